// tests/solvers/low_rank_test.cpp -- the pivoted Cholesky preconditioner: what it is, and what it saves.
#include <gtest/gtest.h>
#include "features/kernel_map.hpp"
#include "solvers/squared/squared_loss.hpp"

#include <Eigen/LU>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

MatrixColumns columns_of(const Matrix<double>& H) {
  return {H.diagonal(), [&](Index i) -> Vector<double> { return H.col(i); }};
}

TEST(PivotedCholesky, GivesBackAMatrixOfItsRank) {
  const Matrix<double> H = random_psd(30, 7, 1);
  const LowRank all = pivoted_cholesky(columns_of(H), 20, 0, Execution{});
  EXPECT_EQ(all.values.size(), 7);
  EXPECT_LT(max_difference(all.Q * all.values.asDiagonal() * all.Q.transpose(), H), 1e-10);
  EXPECT_LT(max_difference(all.Q.transpose() * all.Q, Matrix<double>::Identity(7, 7)), 1e-8);
  // Fewer columns: what is left is positive semi-definite, and its trace falls.
  const LowRank some = pivoted_cholesky(columns_of(H), 4, 0, Execution{});
  const Matrix<double> rest = H - some.Q * some.values.asDiagonal() * some.Q.transpose();
  EXPECT_EQ(some.values.size(), 4);
  EXPECT_GT(rest.diagonal().minCoeff(), -1e-10);
  EXPECT_LT(rest.trace(), 0.6 * H.trace());
  EXPECT_EQ(pivoted_cholesky(columns_of(H), 20, 2 * H.trace(), Execution{}).values.size(), 0);
}

TEST(PivotedCholesky, SolvesTheShiftedSystem) {
  const Matrix<double> H = random_psd(25, 6, 2), R = random_matrix(25, 2, 3);
  Vector<double> delta(2);
  delta << 0.5, 3;
  const Matrix<double> X = pivoted_cholesky(columns_of(H), 20, 0, Execution{}).solve(R, delta, 0.1);
  for (Index j = 0; j < 2; ++j) {
    const Vector<double> back = delta[j] * (H * X.col(j)) + 0.1 * X.col(j);
    EXPECT_LT((back - R.col(j)).norm(), 1e-9);
  }
}

TEST(PivotedCholesky, CutsTheIterationsOfConjugateGradients) {
  const Index n = 800;
  const Matrix<double> X = random_matrix(n, 2, 1);
  const Matrix<double> K = kernel_matrix<double>(Gaussian(1.5), X, X);
  const DualRows rows{random_matrix(n, 2, 2), random_matrix(n, 1, 3).cwiseAbs().array() + 0.1, Vector<double>::Zero(2)};
  const OutputFactor outputs = factor_output_matrix(random_psd(2, 2, 4));
  const SquaredLossProblem problem{outputs, 1e-3, true};
  const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) { KP = K * P; };
  SolveReport plain, preconditioned, direct;
  const IterationOptions options{2000, 1e-8};
  const LinearSolution slow = solve_dual_cg(product, rows, problem, options, Execution{}, plain);
  const LinearSolution fast =
      solve_dual_cg(product, rows, problem, options, Execution{}, preconditioned, columns_of(K));
  Matrix<double> lower = K;
  const LinearSolution exact = solve_dual(lower, rows, problem, Execution{}, direct);
  EXPECT_EQ(preconditioned.status, SolveStatus::converged);
  EXPECT_LE(3 * preconditioned.iterations, plain.iterations);
  EXPECT_LT(max_difference(K * fast.coefficients, K * exact.coefficients), 1e-5);
  EXPECT_LT(max_difference(K * slow.coefficients, K * exact.coefficients), 1e-3);
}

}  // namespace
}  // namespace carmina
