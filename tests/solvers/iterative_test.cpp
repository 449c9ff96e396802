// tests/solvers/iterative_test.cpp -- LSMR and IDR(s) alone, against dense factorisations.
#include "solvers/squared/iterative.hpp"
#include <gtest/gtest.h>

#include <Eigen/LU>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::random_matrix;

struct Shape {
  Index rows, columns;
};

RowOperator dense(const Matrix<double>& A) {
  return {[&](const Vector<double>& x, Matrix<double>& out) { out = A * x; },
          [&](const Matrix<double>& u, Vector<double>& out) { out = A.transpose() * u; }};
}

TEST(Lsmr, SolvesDampedLeastSquares) {
  for (const auto& [n, m] : {Shape{30, 12}, {12, 30}, {1, 1}, {5, 1}, {1, 5}}) {
    const Matrix<double> A = random_matrix(n, m, 1), b = random_matrix(n, 1, 2);
    for (const double alpha : {0.0, 0.3}) {
      if (alpha == 0 && n < m) continue;
      SolveReport report;
      const Vector<double> x = lsmr(dense(A), b, alpha, {500, 1e-13}, Execution{}, report);
      const Eigen::MatrixXd H = A.transpose() * A + alpha * Eigen::MatrixXd::Identity(m, m);
      const Eigen::VectorXd g = A.transpose() * b;
      EXPECT_LT((x - H.partialPivLu().solve(g)).norm(), 1e-8) << n << " " << m << " " << alpha;
      EXPECT_EQ(report.status, SolveStatus::converged);
    }
  }
}

// What it reports after any number of iterations is the residual of the normal equations.
TEST(Lsmr, ReportsTheNormalResidual) {
  const Matrix<double> A = random_matrix(40, 20, 1), b = random_matrix(40, 1, 2);
  const Vector<double> g = A.transpose() * b;
  double before = 1;
  for (Index steps = 1; steps < 12; ++steps) {
    SolveReport report;
    const Vector<double> x = lsmr(dense(A), b, 0.1, {steps, 1e-15}, Execution{}, report);
    const Vector<double> r = g - A.transpose() * (A * x) - 0.1 * x;
    EXPECT_NEAR(report.residual, r.norm() / g.norm(), 1e-10);
    EXPECT_LE(report.residual, before);
    EXPECT_EQ(report.iterations, steps);
    before = report.residual;
  }
}

TEST(Idr, SolvesSquareSystems) {
  for (const Index m : {1, 2, 3, 5, 40, 200}) {
    const Matrix<double> B = random_matrix(m, m, 3);
    for (const bool symmetric : {true, false}) {
      const Matrix<double> A = symmetric
                                   ? Matrix<double>(B * B.transpose() / double(m) + Matrix<double>::Identity(m, m))
                                   : Matrix<double>(B / std::sqrt(double(m)) + 2 * Matrix<double>::Identity(m, m));
      const Vector<double> b = random_matrix(m, 1, 4);
      SolveReport report;
      const auto product = [&](const Vector<double>& x, Vector<double>& out) { out = A * x; };
      const Vector<double> x = idr(product, b, 0, 0, {1000, 1e-12}, Execution{}, report);
      EXPECT_EQ(report.status, SolveStatus::converged) << m << symmetric << report.message;
      EXPECT_LT((A * x - b).norm(), 1e-11 * b.norm());
      EXPECT_LE(report.iterations, 3 * m + 3);  // m (1 + 1/s) products in exact arithmetic
    }
  }
}

// A condition number of 1e6: the recurrence drifts from the true residual, which is what counts.
TEST(Idr, ReachesTheTrueResidual) {
  const Index m = 150;
  const Vector<double> values =
      Vector<double>::LinSpaced(m, -6, 0).unaryExpr([](double e) { return std::pow(10.0, e); });
  const Vector<double> b = random_matrix(m, 1, 4);
  SolveReport report;
  const auto product = [&](const Vector<double>& x, Vector<double>& out) { out = values.cwiseProduct(x); };
  const Vector<double> x = idr(product, b, 0, 0, {20000, 1e-8}, Execution{}, report);
  EXPECT_EQ(report.status, SolveStatus::converged) << report.message;
  EXPECT_LT((values.cwiseProduct(x) - b).norm(), 1.1e-7 * b.norm());
}

TEST(Idr, GivesZeroForZeroAndTheSameBitsForTheSameSeed) {
  const Matrix<double> B = random_matrix(30, 30, 3), A = B * B.transpose();
  const auto product = [&](const Vector<double>& x, Vector<double>& out) { out = A * x; };
  SolveReport report;
  EXPECT_EQ(idr(product, Vector<double>::Zero(30), 0, 0, {}, Execution{}, report).norm(), 0);
  const Vector<double> b = random_matrix(30, 1, 5);
  const auto solve = [&](std::uint64_t seed) { return idr(product, b, seed, 0, {10, 1e-12}, Execution{}, report); };
  EXPECT_EQ(solve(1), solve(1));
  EXPECT_NE(solve(1), solve(2));
}

}  // namespace
}  // namespace carmina
