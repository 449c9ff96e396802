// tests/models/missing_deviations_test.cpp -- noise, deviations and intervals of fits with targets that are missing,
// against fits of each output to the rows that have it.
#include <carmina/models/alpha_path.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/posterior.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/given_numbers.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::missing_deviations_test {
namespace {

using ::testing::HasSubstr;
using testing::max_difference;
using testing::message_of;
using testing::random_matrix;
using testing::random_psd;

constexpr Index n = 150, d = 2, p = 3;

// Outputs 0 and 2 are missing in the same rows, 1 in others.
struct Rows {
  Matrix<double> X = random_matrix(n, d, 1), Y;
  Vector<double> w = random_matrix(n, 1, 2).cwiseAbs().array() + 0.2;

  Rows() {
    Y = (X * random_matrix(d, p, 3)).array().sin() + 0.3 * random_matrix(n, p, 4).array() + 1;
    const Matrix<double> u = random_matrix(n, 2, 5);
    for (Index i = 0; i < n; ++i) {
      if (u(i, 0) > 0.3) Y(i, 0) = Y(i, 2) = std::numeric_limits<double>::quiet_NaN();
      if (u(i, 1) > 0.6) Y(i, 1) = std::numeric_limits<double>::quiet_NaN();
    }
  }
  // The rows that have some outputs, and those outputs.
  Rows of(const std::vector<Index>& columns) const {
    std::vector<Index> there;
    for (Index i = 0; i < n; ++i) {
      if (!std::isnan(Y(i, columns[0]))) there.push_back(i);
    }
    Rows some = *this;
    some.X = X(there, Eigen::all);
    some.Y = Y(there, columns);
    some.w = w(there);
    return some;
  }
};

FitOptions options_for(const std::string& approximation, Index components) {
  FitOptions options = given_numbers();
  options.length_scale = 1.2;
  options.approximation = approximation;
  options.n_components = components;
  options.alpha = 0.4;
  options.solver = "direct";
  options.keep_moments = true;
  return options;
}

TEST(MissingDeviations, AreThoseOfFitsToTheRowsOfEachOutput) {
  const Matrix<double> Z = random_matrix(20, d, 8);
  Matrix<double> joined = Matrix<double>::Zero(p, p);  // outputs 0 and 2 together, 1 apart
  joined(0, 0) = 2, joined(2, 2) = 1, joined(0, 2) = joined(2, 0) = 0.7, joined(1, 1) = 1.5;
  for (const auto& [approximation, components] :
       {std::pair<std::string, Index>("fourier", 20), {"fourier", 400}, {"exact", 0}, {"sub_sample", 25}}) {
    for (const bool coupled : {false, true}) {
      for (const bool chosen : {false, true}) {
        SCOPED_TRACE(approximation + " " + std::to_string(components) + (coupled ? " coupled" : "") +
                     (chosen ? " alpha by leave-one-out" : ""));
        // Copies of more rows than are left out, so that a sample is.
        Rows rows;
        if (coupled) rows.w = Vector<double>::NullaryExpr(n, [](Index i) { return static_cast<double>(60 + i % 7); });
        FitOptions options = options_for(approximation, components);
        if (coupled) options.coupling = OutputMatrix(joined);
        if (chosen) {
          options.alpha_by = AlphaScore::leave_one_out;
          options.alphas = {0.4};
        }
        const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
        ASSERT_EQ(why_no_interval(machine.record()), "");
        const Posterior<double> posterior(machine);
        const Matrix<double> covariance = posterior.covariance(Z), interval = posterior.interval(Z, 0.9);
        for (const std::vector<Index>& columns : {std::vector<Index>{0, 2}, std::vector<Index>{1}}) {
          const Rows own = rows.of(columns);
          if (coupled) options.coupling = OutputMatrix(Matrix<double>(joined(columns, columns)));
          // Anchors are drawn from all rows: other ones here.
          if (approximation == "sub_sample") continue;
          const auto alone = KernelMachine<double>::fit(own.X, own.Y, options, own.w.data());
          const Posterior<double> expected(alone);
          const Matrix<double> own_covariance = expected.covariance(Z), own_interval = expected.interval(Z, 0.9);
          for (std::size_t a = 0; a < columns.size(); ++a) {
            const auto k = static_cast<Index>(a), q = static_cast<Index>(columns.size());
            EXPECT_NEAR(machine.record().noise[columns[a]], alone.record().noise[k], 1e-9);
            EXPECT_LT(max_difference(interval.middleCols(2 * columns[a], 2), own_interval.middleCols(2 * k, 2)), 1e-8);
            for (std::size_t b = 0; b < columns.size(); ++b) {
              EXPECT_LT(max_difference(covariance.col(columns[a] * p + columns[b]),
                                       own_covariance.col(k * q + static_cast<Index>(b))),
                        1e-9);
            }
          }
        }
        for (Index i = 0; i < Z.rows(); ++i) EXPECT_EQ(covariance(i, 1), 0);  // outputs 0 and 1
      }
    }
  }
}

// Variances of 4,000 draws, in their standard errors, and outputs that do not go together.
TEST(MissingDeviations, DrawsAreThoseOfTheOutputsByThemselves) {
  const Rows rows;
  constexpr Index draws = 4000;
  for (const std::string approximation : {"fourier", "exact", "sub_sample"}) {
    const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options_for(approximation, 40), rows.w.data());
    const Posterior<double> posterior(machine);
    const Matrix<double> Z = random_matrix(3, d, 8), mean = machine.predict(Z), covariance = posterior.covariance(Z);
    Matrix<double> squares = Matrix<double>::Zero(3, p);
    double product = 0;
    for (const Matrix<double>& one : posterior.sample(Z, draws, 5)) {
      squares += (one - mean).cwiseAbs2() / draws;
      product += (one(0, 0) - mean(0, 0)) * (one(0, 1) - mean(0, 1)) / draws;
    }
    for (Index i = 0; i < 3; ++i) {
      for (Index a = 0; a < p; ++a) {
        const double variance = covariance(i, a * p + a) - machine.record().noise[a];
        EXPECT_NEAR(squares(i, a), variance, 5 * variance * std::sqrt(2.0 / draws)) << approximation << i << a;
      }
    }
    EXPECT_LT(std::abs(product), 5 * std::sqrt(squares(0, 0) * squares(0, 1) / draws)) << approximation;
  }
}

// A bound: each of p outputs leaves a p-th of the rest.
TEST(MissingDeviations, JointIntervalsAreABound) {
  const Rows rows;
  const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options_for("exact", 0), rows.w.data());
  const Posterior<double> posterior(machine);
  const Matrix<double> Z = random_matrix(5, d, 8), f = machine.predict(Z);
  const Matrix<double> joint = posterior.interval(Z, 0.7, true), own = posterior.interval(Z, 0.9);
  const Matrix<double> unit = posterior.deviation(Z);
  double factor = 0;
  for (Index a = 0; a < p; ++a) factor = std::max(factor, (own(0, 2 * a + 1) - f(0, a)) / unit(0, a));
  for (Index a = 0; a < p; ++a) EXPECT_NEAR((joint(0, 2 * a + 1) - f(0, a)) / unit(0, a), factor, 1e-9);
}

TEST(MissingDeviations, SayWhereTheyAreNotKnown) {
  const Rows rows;
  FitOptions options = options_for("fourier", 20);
  options.coupling = OutputMatrix(random_psd(p, p, 3));
  const auto coupled = KernelMachine<double>::fit(rows.X, rows.Y, options, rows.w.data());
  EXPECT_THAT(message_of([&] { Posterior<double> posterior(coupled); }),
              HasSubstr("variance: where rows lack some of their targets, deviations are known for outputs that no "
                        "coupling joins"));
  const auto machine = KernelMachine<double>::fit(rows.X, rows.Y, options_for("fourier", 20), rows.w.data());
  const auto loaded = KernelMachine<double>::from_file(machine.to_file(), "a file");
  EXPECT_TRUE(loaded.record().missing_targets);
  EXPECT_EQ(max_difference(loaded.predict(rows.X), machine.predict(rows.X)), 0);
  EXPECT_THAT(why_no_deviation(loaded.record()), HasSubstr("in files with their variances"));
}

TEST(MissingDeviations, AreInFiles) {
  const Rows rows;
  const Matrix<double> Z = random_matrix(20, d, 8);
  for (const auto& [approximation, components] :
       {std::pair<std::string, Index>("fourier", 20), {"exact", 0}, {"sub_sample", 25}}) {
    SCOPED_TRACE(approximation);
    const auto machine =
        KernelMachine<double>::fit(rows.X, rows.Y, options_for(approximation, components), rows.w.data());
    ModelFile file = machine.to_file(KernelStorage::in_file, approximation != "exact");
    const auto loaded = KernelMachine<double>::from_file(file, "a file");
    const Posterior<double> before(machine), after(loaded);
    EXPECT_EQ(max_difference(after.covariance(Z), before.covariance(Z)), 0);
    EXPECT_EQ(max_difference(after.interval(Z, 0.8, true), before.interval(Z, 0.8, true)), 0);
    const auto refused = [&] { return message_of([&] { (void)KernelMachine<double>::from_file(file, "a file"); }); };
    file.put<double>("output_pattern", Matrix<double>::Constant(p, 1, 7));
    EXPECT_EQ(refused(), "a file: 'output_pattern' must have a number below 3 for each output");
    file.put<double>("output_pattern", Matrix<double>::Constant(p, 1, 2));
    EXPECT_THAT(refused(), HasSubstr(approximation == "exact" ? "'pattern_rows' is" : "has no output of pattern 0"));
  }
}

}  // namespace
}  // namespace carmina::missing_deviations_test
