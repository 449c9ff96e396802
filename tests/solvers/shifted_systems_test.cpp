// tests/solvers/shifted_systems_test.cpp -- (delta_j H + alpha I) x_j = r_j against one dense solve per column.
#include "solvers/linear/shifted_systems.hpp"
#include <gtest/gtest.h>

#include <Eigen/LU>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

Matrix<double> dense_solution(const Matrix<double>& H, const Vector<double>& delta, double alpha,
                              const Matrix<double>& R) {
  Matrix<double> X(R.rows(), R.cols());
  for (Index j = 0; j < R.cols(); ++j) {
    const Eigen::MatrixXd system = delta[j] * H + alpha * Matrix<double>::Identity(H.rows(), H.rows());
    X.col(j) = system.partialPivLu().solve(Eigen::VectorXd(R.col(j)));
  }
  return X;
}

// H in the lower triangle of a wider buffer, the rest poisoned: nothing else may be read.
Matrix<double> poisoned(const Matrix<double>& H, Index stride) {
  Matrix<double> buffer = Matrix<double>::Constant(H.rows(), stride, std::nan(""));
  buffer.leftCols(H.rows()).triangularView<Eigen::Lower>() = H;
  return buffer;
}

TEST(ShiftedDirect, EqualsDenseSolves) {
  for (const Index m : {1, 2, 17, 150}) {
    for (const Index columns : {1, 3, 12}) {  // 12 different deltas: the eigenvalue form
      const Matrix<double> H = random_psd(m, std::max<Index>(1, m / 2), 1), R = random_matrix(m, columns, 2);
      for (const bool equal : {true, false}) {
        Vector<double> delta = Vector<double>::Constant(columns, 0.7);
        if (!equal) delta = Vector<double>::LinSpaced(columns, 0.2, 3.0);
        Matrix<double> buffer = poisoned(H, m + 3), X = R;
        SolveReport report;
        solve_shifted(buffer.data(), m, m + 3, delta, 0.3, X, Execution{}, report);
        EXPECT_LT(max_difference(X, dense_solution(H, delta, 0.3, R)), 1e-9) << m << " " << columns << equal;
        EXPECT_TRUE(report.message.empty());
      }
    }
  }
}

TEST(ShiftedDirect, TakesTheLeastNormSolutionOfASingularSystem) {
  const Matrix<double> B = random_matrix(20, 5, 3), H = B * B.transpose();
  const Matrix<double> wanted = H * random_matrix(20, 2, 4);  // in the range of H, so of least norm
  Matrix<double> X = H * wanted;
  Matrix<double> buffer = poisoned(H, 20);
  SolveReport report;
  solve_shifted(buffer.data(), 20, 20, Vector<double>::Ones(2), 0.0, X, Execution{}, report);
  EXPECT_LT(max_difference(X, wanted), 1e-8 * wanted.cwiseAbs().maxCoeff());
}

// Outside the range of H the right-hand side is rounding: over an alpha of 1e-30 it would be all there is.
TEST(ShiftedDirect, AnAlphaBelowRoundingIsNone) {
  const Matrix<double> B = random_matrix(20, 5, 3), H = B * B.transpose();
  const Matrix<double> wanted = H * random_matrix(20, 2, 4);
  for (const double alpha : {1e-300, 1e-30, 1e-17}) {
    Matrix<double> X = H * wanted;
    Matrix<double> buffer = poisoned(H, 20);
    SolveReport report;
    solve_shifted(buffer.data(), 20, 20, Vector<double>::Ones(2), alpha, X, Execution{}, report);
    EXPECT_LT(max_difference(X, wanted), 1e-8 * wanted.cwiseAbs().maxCoeff()) << alpha;
    EXPECT_NE(report.message, "");
  }
  // Entries that are wrong by more than their last digits: of H what is smaller than that is not there.
  Matrix<double> noise = 1e-5 * Matrix<double>::Identity(20, 20), X = Matrix<double>::Ones(20, 1);
  SolveReport report;
  solve_shifted(noise.data(), 20, 20, Vector<double>::Ones(1), 1e-30, X, Execution{}, report, {}, 1e-4);
  EXPECT_EQ(X, Matrix<double>::Zero(20, 1));
}

// Rows of very different weights make entries of very different sizes, and no system singular.
TEST(ShiftedDirect, ScalesOfRowsAreNoReasonToFallBack) {
  Vector<double> scale(6);
  for (Index i = 0; i < 6; ++i) scale[i] = std::pow(10.0, 3 * i - 8);
  const Matrix<double> G = random_psd(6, 6, 8) + Matrix<double>::Identity(6, 6);
  Matrix<double> H = scale.asDiagonal() * G * scale.asDiagonal(), X = scale;
  SolveReport report;
  solve_shifted(H.data(), 6, 6, Vector<double>::Ones(1), 1e-25, X, Execution{}, report);
  EXPECT_EQ(report.message, "");
}

TEST(ShiftedDirect, SaysWhenItHadToFallBack) {
  Matrix<double> H = -1e-3 * Matrix<double>::Identity(4, 4);  // rounding made it indefinite
  H(0, 0) = 1e6;
  Matrix<double> X = Matrix<double>::Ones(4, 1);
  SolveReport report;
  solve_shifted(H.data(), 4, 4, Vector<double>::Ones(1), 1e-9, X, Execution{}, report);
  EXPECT_TRUE(X.allFinite());
  EXPECT_FALSE(report.message.empty());
}

TEST(ShiftedCg, EqualsDenseSolvesAndReports) {
  const Index m = 60;
  const Matrix<double> H = random_psd(m, 20, 5), R = random_matrix(m, 4, 6);
  const Vector<double> delta = Vector<double>::LinSpaced(4, 0.0, 2.0);
  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) { HP = H * P; };
  SolveReport report;
  const Matrix<double> X = solve_shifted_cg(product, delta, 0.5, R, {200, 1e-12}, Execution{}, report);
  EXPECT_LT(max_difference(X, dense_solution(H, delta, 0.5, R)), 1e-9);
  EXPECT_EQ(report.status, SolveStatus::converged);
  EXPECT_LE(report.residual, 1e-12);
  EXPECT_GT(report.iterations, 5);

  SolveReport short_report;
  (void)solve_shifted_cg(product, delta, 0.5, R, {3, 1e-12}, Execution{}, short_report);
  EXPECT_EQ(short_report.status, SolveStatus::not_converged);
  EXPECT_EQ(short_report.iterations, 3);
  EXPECT_NE(short_report.message.find("max_iter"), std::string::npos);
}

TEST(ShiftedCg, ZeroRightHandSideIsZero) {
  const auto product = [](const Matrix<double>& P, Matrix<double>& HP) { HP = P; };
  SolveReport report;
  const Matrix<double> X = solve_shifted_cg(product, Vector<double>::Ones(2), 1.0, Matrix<double>::Zero(5, 2),
                                            {10, 1e-8}, Execution{}, report);
  EXPECT_EQ(X, Matrix<double>(Matrix<double>::Zero(5, 2)));
  EXPECT_EQ(report.status, SolveStatus::converged);
}

}  // namespace
}  // namespace carmina
