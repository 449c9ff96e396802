// tests/models/missing_choice_test.cpp -- what the data choose where targets are missing.
#include "models/choose/missing_choice.hpp"
#include "models/choose/choose.hpp"

#include <carmina/models/kernel_machine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/given_numbers.hpp"
#include "support/random_matrix.hpp"

namespace carmina::missing_choice_test {
namespace {

using testing::random_matrix;
using testing::random_psd;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A share of the targets is missing, in every row but the first one at least one is there.
void lose(Matrix<double>& Y, double share, std::uint64_t seed) {
  const Matrix<double> u = random_matrix(Y.rows(), Y.cols(), seed);  // normal
  for (Index i = 0; i < Y.rows(); ++i) {
    for (Index j = 0; j < Y.cols(); ++j) {
      if (0.5 * std::erfc(-u(i, j) / std::sqrt(2.0)) < share) Y(i, j) = nan;
    }
  }
}

ChoiceRows some_rows(Index n, Index p, double share, bool intercept) {
  ChoiceRows rows{random_matrix(n, 2, 1), random_matrix(n, p, 2), Vector<double>::Ones(n), intercept};
  lose(rows.Y, share, 3);
  return rows;
}

// Each output by a fit to the rows that have it, less the one that is left out.
TEST(MissingChoice, PooledErrorsAreThoseOfFitsWithoutTheRow) {
  for (const bool intercept : {true, false}) {
    ChoiceRows rows = some_rows(25, 3, 0.4, intercept);
    for (Index i = 0; i < 25; ++i) rows.weights[i] = 0.5 * static_cast<double>(1 + i % 4);
    const ScalarKernel kernel = Gaussian(LengthScale(0.8));
    const ExactErrors found = exact_errors(rows, kernel, 0.07, Execution{});
    FitOptions options = given_numbers();
    options.kernel = Kernel(kernel);
    options.approximation = "exact";
    options.alpha = 0.07;
    options.fit_intercept = intercept;
    double sum = 0, weight = 0;
    for (Index i = 0; i < 25; ++i) {
      for (Index j = 0; j < 3; ++j) {
        if (std::isnan(rows.Y(i, j))) {
          EXPECT_EQ(found.residuals(i, j), 0);
          EXPECT_EQ(found.coefficients(i, j), 0);
          continue;
        }
        Matrix<double> y = rows.Y.col(j);
        Vector<double> w = rows.weights;
        w[i] -= std::min(1.0, w[i]);
        for (Index k = 0; k < 25; ++k) {
          if (std::isnan(y(k, 0))) y(k, 0) = w[k] = 0;
        }
        const double f = KernelMachine<double>::fit(rows.Z, y, options, w.data()).predict(rows.Z.row(i))(0, 0);
        EXPECT_NEAR(found.residuals(i, j), rows.Y(i, j) - f, 1e-8);
        sum += rows.weights[i] * std::pow(rows.Y(i, j) - f, 2);
        weight += rows.weights[i];
      }
    }
    EXPECT_NEAR(found.error, sum / weight, 1e-8);
    EXPECT_NEAR(found.squares.dot(rows.weights) / rows.weights.sum(), found.error, 1e-12);
  }
}

TEST(MissingChoice, TargetsAreLimitedInAnyOrderOfRows) {
  ChoiceRows rows = some_rows(300, 2, 0.3, true);
  std::vector<Index> order(300);
  std::iota(order.begin(), order.end(), Index{0});
  std::reverse(order.begin(), order.end());
  ChoiceRows other{rows.Z(order, Eigen::all), rows.Y(order, Eigen::all), rows.weights, true};
  limit_targets(rows, 100);
  limit_targets(other, 100);
  for (Index j = 0; j < 2; ++j) EXPECT_EQ((!rows.Y.col(j).array().isNaN()).count(), 100);
  for (Index i = 0; i < 300; ++i) {
    for (Index j = 0; j < 2; ++j) EXPECT_EQ(std::isnan(rows.Y(i, j)), std::isnan(other.Y(299 - i, j)));
  }
}

// Of many patterns, no more work than four systems of complete rows.
TEST(MissingChoice, ManyPatternsTakeFewerRowsEach) {
  ChoiceRows rows = some_rows(400, 32, 0.1, true);
  limit_targets(rows, 300);
  double work = 0;
  for (const SeenOutputs& seen : seen_outputs(rows.Y)) work += std::pow(static_cast<double>(seen.rows.size()), 3);
  EXPECT_LE(work, 4.001 * std::pow(300.0, 3));
  EXPECT_GT(work, 2 * std::pow(300.0, 3));
}

struct Table {
  Matrix<double> X, Y, Z, clean;  // rows to fit to, and others with what they are without noise

  // `gradients`: of a potential, for kernels of such fields; p is the number of inputs, 2.
  Table(Index n, Index p, double share, bool gradients = false) {
    Matrix<double> all = random_matrix(n + 200, 2, 11);
    for (double& x : all.reshaped()) x = 2 * std::erf(x / std::sqrt(2.0));  // uniform between -2 and 2
    const Matrix<double> V = 1.3 * random_matrix(2, p, 12);
    Matrix<double> F = (all * V).array().sin();
    if (gradients) F = Matrix<double>(F * V.transpose()) / 2;
    X = all.topRows(n);
    Z = all.bottomRows(200);
    clean = F.bottomRows(200);
    Y = F.topRows(n) + 0.2 * random_matrix(n, p, 13);
    lose(Y, share, 14);
  }
  double error(const FitOptions& options) const {
    const auto machine = KernelMachine<double>::fit(X, Y, options);
    return std::sqrt((machine.predict(Z) - clean).squaredNorm() / static_cast<double>(clean.size()));
  }
};

// What outputs choose together is about as good as the best of a grid, also with nine targets in ten missing.
TEST(MissingChoice, IsNearTheBestOfAGrid) {
  for (const auto& [n, share] : {std::pair<Index, double>(300, 0.3), {1500, 0.9}}) {
    SCOPED_TRACE(share);
    const Table table(n, 3, share);
    double best = std::numeric_limits<double>::infinity();
    FitOptions options = given_numbers();
    options.approximation = "exact";
    for (const double width : {0.4, 0.8, 1.6, 3.2}) {
      for (const double alpha : {0.003, 0.03, 0.3, 3.0}) {
        options.length_scale = width;
        options.alpha = alpha;
        best = std::min(best, table.error(options));
      }
    }
    EXPECT_LT(table.error(FitOptions()), 1.25 * best);
  }
}

// With one output a missing target is a row that is not there.
TEST(MissingChoice, OfOneOutputIsThatOfTheOtherRows) {
  const Table table(120, 1, 0.4);
  std::vector<Index> there;
  for (Index i = 0; i < 120; ++i) {
    if (!std::isnan(table.Y(i, 0))) there.push_back(i);
  }
  const Matrix<double> X = table.X(there, Eigen::all), Y = table.Y(there, Eigen::all);
  for (const Loss& loss : {Loss(Squared{}), Loss(Pinball({0.2, 0.8})), Loss(Huber(0.3))}) {
    SCOPED_TRACE(loss_name(loss));
    FitOptions options;
    options.loss = loss;
    const auto all = KernelMachine<double>::fit(table.X, table.Y, options);
    const auto some = KernelMachine<double>::fit(X, Y, options);
    EXPECT_EQ(all.record().alpha, some.record().alpha);
    EXPECT_EQ(all.record().report.text, some.record().report.text);
    EXPECT_LT((all.predict(table.Z) - some.predict(table.Z)).cwiseAbs().maxCoeff(), 1e-5);
  }
}

// Every coupling and loss chooses something that predicts, not much worse than with all targets.
TEST(MissingChoice, IsForEveryCouplingAndLoss) {
  const Table table(200, 2, 0.3, true), complete(200, 2, 0, true);
  const Matrix<double> A = random_psd(2, 2, 5);
  for (const OutputCoupling& coupling : {OutputCoupling(Independent{}), OutputCoupling(OutputMatrix(A)),
                                         OutputCoupling(TargetCovariance{}), OutputCoupling(CurlFreeCoupling{})}) {
    for (const Loss& loss : {Loss(Squared{}), Loss(Huber(0.5)), Loss(Pinball({0.5, 0.5}))}) {
      SCOPED_TRACE(std::to_string(coupling.index()) + " " + loss_name(loss));
      FitOptions options;
      options.coupling = coupling;
      options.loss = loss;
      EXPECT_LT(table.error(options), 1.7 * complete.error(options));  // of as few rows 1.2 times
    }
  }
}

// Above the rows of exact fits approximations are compared, on rows that lack targets too.
TEST(MissingChoice, ComparesApproximations) {
  const Table table(8800, 2, 0.2);
  MemoryRows<double> source(table.X, table.Y);
  DataRows<double> rows(source);
  FitOptions options;
  options.kernel_name = "gaussian";
  options.length_scale = 1.0;
  options.metric = MetricRule::identity;
  options.alpha = 0.1;
  SolveReport report;
  EXPECT_NE(choose(rows, options, report).approximation, "exact");
  EXPECT_THAT(report.text, ::testing::HasSubstr("errors of left-out rows are"));
  options.coupling = OutputMatrix(random_psd(2, 2, 5));
  EXPECT_EQ(choose(rows, options, report).approximation, "fourier");
}

}  // namespace
}  // namespace carmina::missing_choice_test
