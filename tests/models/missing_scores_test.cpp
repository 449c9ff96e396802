// tests/models/missing_scores_test.cpp -- paths, folds and scores where targets are missing, and the words for what
// cannot be fitted.
#include <carmina/models/alpha_path.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/tune.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/message_of.hpp"
#include "support/missing_rows.hpp"

namespace carmina::missing_scores_test {
namespace {

using testing::Gaps;
using ::testing::HasSubstr;
using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using testing::random_psd;
using testing::Rows;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Rows left out one by one, by fits without them.
TEST(MissingTargets, PathsLeaveRowsOut) {
  const Kernel alone(own_term(Gaussian(1.5), Independent{}));
  const Kernel coupled = Decomposable(Gaussian(1.5), random_psd(2, 2, 3));
  const Kernel of_rank_one = Decomposable(Gaussian(1.5), random_psd(2, 1, 3));
  for (const std::string approximation : {"fourier", "exact"}) {
    for (const auto& [name, kernel] :
         std::vector<std::pair<std::string, Kernel>>{{"", alone},
                                                     {" twice", 2.0 * alone},
                                                     {" coupled", coupled},
                                                     {" of rank one", of_rank_one},
                                                     {" curl-free", CurlFree(Gaussian(1.5))}}) {
      if (approximation == "fourier" && !kernel.separable()) continue;
      if (approximation == "fourier" && !std::holds_alternative<Independent>(kernel.separable()->coupling)) continue;
      SCOPED_TRACE(approximation + name);
      FitOptions options = given_numbers();
      options.kernel = kernel;
      options.approximation = approximation;
      options.n_components = 12;
      const Rows<double> rows(30, 2, 2, Gaps::at_random, 70);
      const std::vector<double> alphas = {0.1, 1.0};
      MemoryRows<double> source(rows.X, rows.Y, rows.w.data());
      const auto path = fit_path(source, options, alphas, true);
      for (std::size_t a = 0; a < 2; ++a) {
        options.alpha = alphas[a];
        const auto one = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
        EXPECT_LT(max_difference(path.machine(a).predict(rows.X), one.predict(rows.X)), 1e-9);
        double squares = 0, left_out = 0, weight = 0;
        for (Index i = 0; i < 30; ++i) {
          if (rows.Y.row(i).array().isNaN().all() || rows.w[i] == 0) continue;
          Vector<double> w = rows.w;
          w[i] = 0;
          const auto others = KernelMachine<double>::fit(rows.X, rows.Y, options, w.data());
          const Matrix<double> f = one.predict(rows.X.row(i)), g = others.predict(rows.X.row(i));
          weight += rows.w[i];
          for (Index j = 0; j < 2; ++j) {
            if (std::isnan(rows.Y(i, j))) continue;
            squares += rows.w[i] * std::pow(f(0, j) - rows.Y(i, j), 2);
            left_out += rows.w[i] * std::pow(g(0, j) - rows.Y(i, j), 2);
          }
        }
        EXPECT_NEAR(path.points()[a].training_loss, squares / (2 * weight), 1e-10);
        EXPECT_NEAR(*path.points()[a].leave_one_out, left_out / (2 * weight), 1e-8);
      }
    }
  }
}

TEST(MissingTargets, FoldsAreForAnyCoupling) {
  for (const bool coupled : {false, true}) {
    TuneOptions options;
    options.fit = given_numbers();
    options.fit.n_components = 12;
    options.fit.length_scale = 1.5;
    if (coupled) options.fit.coupling = OutputMatrix(random_psd(2, 2, 3));
    options.alphas = {0.01, 1.0, 100.0};
    options.folds = 3;
    const Rows<double> rows(60, 3, 2, Gaps::at_random, 80);
    MemoryRows<double> source(rows.X, rows.Y, rows.w.data());
    const CrossValidation found = cross_validate(source, options);
    for (const Trial& trial : found.trials) EXPECT_TRUE(std::isfinite(trial.mean));
    EXPECT_LT(found.trials[found.best].alpha, 50);
  }
}

TEST(MissingTargets, AreIgnoredByScores) {
  FitOptions options = given_numbers();
  options.n_components = 12;
  options.length_scale = 1.5;
  options.alpha = 0.1;
  Rows<double> rows(60, 3, 2, Gaps::at_random, 90);
  const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options);
  MemoryRows<double> source(rows.X, rows.Y);
  const Evaluation found = evaluate_machine(machine, source);
  const Matrix<double> F = machine.predict(rows.X);
  double squares = 0;
  Index with_target = 0;
  for (Index i = 0; i < 60; ++i) {
    bool any = false;
    for (Index j = 0; j < 2; ++j) {
      if (std::isnan(rows.Y(i, j))) continue;
      any = true;
      squares += std::pow(F(i, j) - rows.Y(i, j), 2) / 2;
    }
    with_target += any;
  }
  EXPECT_EQ(found.rows, with_target);
  EXPECT_NEAR(found.average.loss, squares / static_cast<double>(with_target), 1e-12);
  EXPECT_EQ(found.average.rmse, (found.targets[0].rmse + found.targets[1].rmse) / 2);
  rows.Y.col(1).setConstant(nan);
  const Evaluation first = evaluate_machine(machine, source);
  EXPECT_EQ(first.average.rmse, first.targets[0].rmse);
  EXPECT_EQ(first.targets[0].rmse, found.targets[0].rmse);
  rows.Y.setConstant(nan);
  EXPECT_THAT(message_of([&] { evaluate_machine(machine, source); }), HasSubstr("evaluate: no row has a target"));
}

TEST(MissingTargets, SaysWhatCannotBeFitted) {
  FitOptions options = given_numbers();
  options.n_components = 12;
  options.length_scale = 1.5;
  options.alpha = 0.1;
  options.target_names = {"speed", "height"};
  const Rows<double> good(20, 3, 2, Gaps::at_random, 90);
  const auto fit = [&](const Matrix<double>& Y) {
    return message_of([&] { (void)KernelMachine<double>::fit(good.X, Y, options); });
  };
  Matrix<double> Y = good.Y;
  Y.col(1).setConstant(nan);
  EXPECT_EQ(fit(Y), "fit: target column 2 ('height') has no values: every row has NaN there; leave the column out");
  Y.setConstant(nan);
  EXPECT_EQ(fit(Y), "fit: no row has a target: all 20 rows with a positive weight have NaN for every output");
  Y = good.Y;
  Y(3, 1) = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fit(Y), "row 4: target column 2 is infinite");
  Y = good.Y;
  options.coupling = OutputMatrix(random_psd(2, 2, 3));
  options.alpha_by = AlphaScore::gcv;
  EXPECT_THAT(fit(Y), HasSubstr("the kernel couples outputs of different ones"));
  options.alpha_by.reset();
  options.by_evidence = true;
  EXPECT_THAT(fit(Y), HasSubstr("evidence: a row must have targets for all outputs or for none"));
}

// One target: rows without it are rows that are not there, for everything that is asked of a fit.
TEST(MissingTargets, OfOneOutputAreRowsLeftOut) {
  const Rows<double> rows(60, 3, 1, Gaps::at_random, 95);
  std::vector<Index> there;
  for (Index i = 0; i < 60; ++i) {
    if (!std::isnan(rows.Y(i, 0))) there.push_back(i);
  }
  const Matrix<double> X = rows.X(there, Eigen::all), Y = rows.Y(there, Eigen::all);
  for (const std::string approximation : {"fourier", "exact"}) {
    for (const Loss& loss : {Loss(Squared{}), Loss(Pinball({0.2, 0.8})), Loss(Huber(0.5))}) {
      for (const auto by : {std::optional<AlphaScore>(), std::optional(AlphaScore::leave_one_out)}) {
        if (by && !std::holds_alternative<Squared>(loss)) continue;
        SCOPED_TRACE(approximation + " " + loss_name(loss));
        FitOptions options = given_numbers();
        options.approximation = approximation;
        options.n_components = 12;
        options.alpha = 0.1;
        options.loss = loss;
        options.alpha_by = by;
        options.scale_inputs = true;
        options.tol = 1e-10;
        const auto all = KernelMachine<double>::fit(rows.X, rows.Y, options);
        const auto some = KernelMachine<double>::fit(X, Y, options);
        EXPECT_EQ(all.record().alpha, some.record().alpha);
        EXPECT_LT(max_difference(all.predict(rows.X), some.predict(rows.X)), 1e-4);
        EXPECT_FALSE(all.record().missing_targets);
      }
    }
  }
}

}  // namespace
}  // namespace carmina::missing_scores_test
