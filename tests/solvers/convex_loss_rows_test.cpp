// tests/solvers/convex_loss_rows_test.cpp -- rows of a kernel against features of the same kernel: one minimum, two
// ways.
#include <gtest/gtest.h>

#include "loss_problem.hpp"

namespace carmina {
namespace {

using testing::all_losses;
using testing::max_difference;
using testing::Problem;
using testing::random_matrix;

// K = phi phiᵀ of a problem's features, its outputs separate.
struct RowProblem {
  Problem problem;
  Matrix<double> K;

  explicit RowProblem(const Problem& of) : problem(of), K(of.phi * of.phi.transpose()) {}

  LinearSolution solve(double tol, SolveReport& report, int threads = 1) const {
    Execution execution;
    execution.threads = threads;
    const CoefficientSpace space(problem.outputs, problem.shape.n, problem.shape.p);
    return solve_convex_loss(*kernel_rows(K, execution), space,
                             {problem.loss, problem.Y, problem.w, problem.alpha, problem.shape.intercept},
                             Direction::newton, {1000, tol}, execution, report);
  }
  // Theta = phiᵀ times the coefficients of the rows
  double objective(const LinearSolution& found) const {
    return problem.objective(problem.phi.transpose() * found.coefficients, found.intercept);
  }
  bool allowed() const {
    return by_rows(CoefficientSpace(problem.outputs, problem.shape.n, problem.shape.p), problem.loss);
  }
};

void expect_the_same_minimum(const Problem& problem, double tol) {
  const RowProblem rows(problem);
  if (!rows.allowed()) return;
  SolveReport by_features, by_kernel;
  problem.solve(Direction::newton, tol, by_features);
  const LinearSolution found = rows.solve(tol, by_kernel);
  // Both values are above the minimum by no more than their gaps.
  const double J = by_features.objective, allowed = (tol + by_features.residual) * std::abs(J) + 1e-9;
  SCOPED_TRACE(loss_name(problem.loss) + " n " + std::to_string(problem.shape.n) + " m " +
               std::to_string(problem.shape.m) + " p " + std::to_string(problem.shape.p) + " alpha " +
               std::to_string(problem.alpha));
  EXPECT_EQ(by_kernel.status, SolveStatus::converged) << by_kernel.message;
  EXPECT_LE(by_kernel.residual, tol);
  EXPECT_NEAR(by_kernel.objective, J, allowed);
  EXPECT_NEAR(rows.objective(found), by_kernel.objective, allowed);
  if (!problem.shape.intercept) {
    EXPECT_EQ(found.intercept.norm(), 0);
  }
}

// Fewer features than rows make K singular; 500 rows are solved by way of 167 and of 56. With more features than rows
// and a small penalty all rows lie at a kink.
TEST(ConvexLossOfRows, FindsTheMinimumOfFeatures) {
  for (const testing::Case& shape : std::vector<testing::Case>{{60, 8, 1, 0, true, false},
                                                               {60, 80, 1, 1, false, true},
                                                               {40, 6, 3, 0, true, true},
                                                               {5, 9, 2, 0, true, false},
                                                               {1, 3, 1, 0, false, false},
                                                               {1, 3, 1, 0, true, false},
                                                               {500, 30, 1, 0, true, true},
                                                               {300, 330, 1, 1, true, false},
                                                               {500, 20, 2, 0, false, true}}) {
    for (const Loss& loss : all_losses(shape.p)) {
      for (const double alpha : {1e-2, 0.3, 30.0}) {
        Problem problem(shape, loss);
        problem.alpha = alpha;
        expect_the_same_minimum(problem, 1e-7);
      }
    }
  }
}

TEST(ConvexLossOfRows, RowsMayRepeatAndHaveNoWeight) {
  for (const Loss& loss : all_losses(1)) {
    Problem problem({400, 40, 1, 0, true, true}, loss);
    problem.phi.bottomRows(200) = problem.phi.topRows(200);
    for (Index i = 0; i < 400; i += 3) problem.w[i] = 0;  // those that a guess would begin with
    problem.w.head(10) *= 50;
    expect_the_same_minimum(problem, 1e-7);
  }
}

TEST(ConvexLossOfRows, ReachesExtremeQuantilesUnderAnyPenalty) {
  for (const double tau : {0.02, 0.1, 0.5, 0.98}) {
    for (const double alpha : {1e-4, 1e-2, 1.0, 100.0}) {
      Problem problem({200, 10, 1, 0, true, false}, Pinball({tau}));
      problem.alpha = alpha;
      expect_the_same_minimum(problem, 1e-7);
    }
  }
}

TEST(ConvexLossOfRows, ConvergesWhereAConstantIsPerfect) {
  for (const Index n : {1, 30, 300}) {
    for (const Loss& loss : all_losses(1)) {
      Problem problem({n, 4, 1, 0, true, false}, loss);
      problem.Y.setConstant(expected_target(loss, 5) ? 1 : 5);
      SolveReport report;
      const RowProblem rows(problem);
      const LinearSolution found = rows.solve(1e-6, report);
      EXPECT_EQ(report.status, SolveStatus::converged) << loss_name(loss) << " " << report.message;
      EXPECT_LT(rows.objective(found), 1e-9) << loss_name(loss);
    }
  }
}

TEST(ConvexLossOfRows, ThreadsDoNotMatter) {
  const RowProblem rows(Problem({2500, 30, 1, 0, true, false}, EpsilonInsensitive(0.2)));
  SolveReport report;
  const LinearSolution one = rows.solve(1e-5, report), two = rows.solve(1e-5, report, 2);
  EXPECT_EQ(max_difference(one.coefficients, two.coefficients), 0);
}

// The other ways to a direction know nothing of K.
TEST(ConvexLossOfRows, IsForNewtonAndSeparateOutputs) {
  SolveReport report;
  const Problem coupled({40, 6, 3, 2, true, false}, Pinball({0.5})), radial({40, 6, 3, 0, true, false}, Absolute{});
  EXPECT_FALSE(RowProblem(coupled).allowed());
  EXPECT_FALSE(RowProblem(radial).allowed());
  EXPECT_THROW(RowProblem(coupled).solve(1e-5, report), Error);
}

TEST(KernelProducts, AreThoseOfTheMatrix) {
  const Index n = 1300;
  const Matrix<double> root = random_matrix(n, 5, 1), K = root * root.transpose();
  Matrix<double> C = random_matrix(n, 2, 2), F;
  for (Index i = 0; i < n; ++i) C(i, 0) *= i % 7 == 0 ? 1 : 0;
  kernel_rows(K, Execution{})->forward(C, F);
  EXPECT_LT(max_difference(F, K * C), 1e-9);
  kernel_rows(K, Execution{})->forward(Matrix<double>::Zero(n, 1), F);
  EXPECT_EQ(F.norm(), 0);
}

}  // namespace
}  // namespace carmina
