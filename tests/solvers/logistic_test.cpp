// tests/solvers/logistic_test.cpp -- the logistic loss against Newton's method with all second derivatives in one dense
// matrix.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "loss_problem.hpp"

namespace carmina::logistic_test {
namespace {

using testing::Case;
using testing::max_difference;
using testing::Problem;
using testing::random_matrix;

// Coefficients of the design [phi (x) B, 1 (x) I], row (i, j) of which belongs to output j of row i.
Eigen::MatrixXd design_of(const Problem& problem) {
  const Case& shape = problem.shape;
  const Index rank = problem.root.cols(), order = shape.m * rank;
  Eigen::MatrixXd design = Eigen::MatrixXd::Zero(shape.n * shape.p, order + (shape.intercept ? shape.p : 0));
  for (Index i = 0; i < shape.n; ++i) {
    for (Index j = 0; j < shape.p; ++j) {
      for (Index k = 0; k < shape.m; ++k) {
        design.row(i * shape.p + j).segment(k * rank, rank) = problem.phi(i, k) * problem.root.row(j);
      }
      if (shape.intercept) design(i * shape.p + j, order + j) = 1;
    }
  }
  return design;
}

// Slow: sums of dense matrices by the textbook's formulas, steps halved until the objective falls.
double least_objective(const Problem& problem) {
  const Case& shape = problem.shape;
  const Index p = shape.p, order = shape.m * problem.root.cols();
  const Eigen::MatrixXd design = design_of(problem);
  const Index all = design.cols();
  const auto objective = [&](const Eigen::VectorXd& x) {
    const Eigen::VectorXd f = design * x;
    double sum = problem.alpha / 2 * x.head(order).squaredNorm();
    for (Index i = 0; i < shape.n; ++i) {
      if (p == 1) {
        sum += problem.w[i] * std::log(1 + std::exp(-problem.Y(i, 0) * f[i]));
      } else {
        const Eigen::VectorXd row = f.segment(i * p, p);
        sum += problem.w[i] * (std::log(row.array().exp().sum()) - row.dot(problem.Y.row(i).transpose()));
      }
    }
    return sum;
  };
  Eigen::VectorXd x = Eigen::VectorXd::Zero(all);
  for (int step = 0; step < 100; ++step) {
    const Eigen::VectorXd f = design * x;
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(all);
    slope.head(order) = problem.alpha * x.head(order);
    Eigen::MatrixXd H = Eigen::MatrixXd::Zero(all, all);
    H.diagonal().head(order).setConstant(problem.alpha);
    for (Index i = 0; i < shape.n; ++i) {
      const Eigen::MatrixXd Z = design.middleRows(i * p, p);
      Eigen::VectorXd s(p), y(p);
      if (p == 1) {
        s[0] = 1 / (1 + std::exp(-f[i]));
        y[0] = problem.Y(i, 0) > 0 ? 1 : 0;
      } else {
        s = f.segment(i * p, p).array().exp();
        s /= s.sum();
        y = problem.Y.row(i).transpose();
      }
      Eigen::MatrixXd D = s.asDiagonal();
      D -= s * s.transpose();
      slope += problem.w[i] * Z.transpose() * (s - y);
      H += problem.w[i] * Z.transpose() * D * Z;
    }
    if (p > 1) H.bottomRightCorner(all - order, all - order).array() += 1;  // a constant for all classes is free
    const Eigen::VectorXd move = -H.ldlt().solve(slope);
    double t = 1;
    while (t > 1e-12 && objective(x + t * move) > objective(x)) t /= 2;
    x += t * move;
    if (slope.norm() < 1e-12) break;
  }
  return objective(x);
}

TEST(Logistic, FindsTheMinimumOfADenseNewtonMethod) {
  for (const Case& shape : std::vector<Case>{{60, 8, 1, 0, true, false},
                                             {60, 8, 1, 1, false, true},
                                             {80, 6, 3, 0, true, true},
                                             {80, 6, 3, 2, true, false},
                                             {60, 5, 4, 4, false, true},
                                             {30, 40, 5, 0, true, false}}) {
    for (const double alpha : {0.01, 1.0}) {
      Problem problem(shape, Logistic{});
      problem.alpha = alpha;
      SCOPED_TRACE(std::to_string(shape.p) + " outputs, rank " + std::to_string(shape.outputs));
      const double expected = least_objective(problem);
      for (const Direction direction : {Direction::newton, Direction::lbfgs}) {
        SolveReport report;
        const LinearSolution found = problem.solve(direction, 1e-9, report);
        EXPECT_EQ(report.status, SolveStatus::converged) << report.message;
        EXPECT_NEAR(report.objective, expected, 2e-9 * expected);
        EXPECT_NEAR(problem.objective(found.coefficients, found.intercept), expected, 2e-9 * expected);
      }
    }
  }
}

// The gap is certified: no bound that is reported lies above the minimum, at a rough tolerance too.
TEST(Logistic, TheGapIsNeverTooSmall) {
  for (const Case& shape : std::vector<Case>{{60, 8, 1, 0, true, true}, {80, 6, 3, 0, true, true}}) {
    Problem problem(shape, Logistic{});
    problem.alpha = 0.01;
    const double least = least_objective(problem);
    for (const double tol : {0.5, 1e-1, 1e-2, 1e-4}) {
      SolveReport report;
      problem.solve(Direction::newton, tol, report);
      EXPECT_LE(report.residual, tol);
      EXPECT_GE(report.objective, least * (1 - 1e-10));
      EXPECT_LE(report.objective - report.residual * report.objective, least * (1 + 1e-10));
    }
  }
}

// A class that no row has: its intercept falls without end, and the others are as if it were not there.
TEST(Logistic, TakesAClassWithoutRows) {
  Problem problem({60, 5, 3, 0, true, false}, Logistic{});
  for (Index i = 0; i < 60; ++i) {
    if (problem.Y(i, 2) == 1) problem.Y.row(i) << 1, 0, 0;
  }
  SolveReport report;
  const LinearSolution found = problem.solve(Direction::newton, 1e-6, report);
  EXPECT_EQ(report.status, SolveStatus::converged) << report.message;
  EXPECT_LT(found.intercept[2], found.intercept.head(2).minCoeff() - 5);
}

// Two classes as one output, or as two: scores of two share the penalty, so that alpha must be twice as large.
TEST(Logistic, TwoOutputsAreOneWithHalfThePenalty) {
  Problem one({70, 6, 1, 0, true, true}, Logistic{});
  Problem two = one;
  two.shape.p = 2;
  two.Y.resize(70, 2);
  two.Y << (1 - one.Y.array()) / 2, (1 + one.Y.array()) / 2;
  two.root = Matrix<double>::Identity(2, 2);
  two.alpha = 2 * one.alpha;
  SolveReport of_one, of_two;
  const LinearSolution a = one.solve(Direction::newton, 1e-10, of_one), b = two.solve(Direction::newton, 1e-10, of_two);
  EXPECT_NEAR(of_one.objective, of_two.objective, 1e-8 * of_one.objective);
  EXPECT_LT(max_difference(a.coefficients, b.coefficients.col(1) - b.coefficients.col(0)), 1e-4);
}

}  // namespace
}  // namespace carmina::logistic_test
