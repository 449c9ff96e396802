// tests/solvers/shifted_path_test.cpp -- many alphas from one decomposition against one dense solve for each.
#include "solvers/linear/shifted_path.hpp"
#include <gtest/gtest.h>
#include "solvers/linear/shifted_systems.hpp"

#include <Eigen/LU>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

const std::vector<double> alphas = {3, 0.01, 0.2};

Eigen::MatrixXd shifted(const Matrix<double>& H, double delta, double alpha) {
  return delta * H + alpha * Matrix<double>::Identity(H.rows(), H.rows());
}

// The lower triangle alone: nothing else may be read.
Matrix<double> lower_of(const Matrix<double>& H) {
  Matrix<double> lower = Matrix<double>::Constant(H.rows(), H.cols(), std::nan(""));
  lower.triangularView<Eigen::Lower>() = H;
  return lower;
}

TEST(ShiftedPath, EqualsDenseSolvesAndTraces) {
  for (const bool want_vectors : {false, true}) {
    for (const Index m : {1, 2, 3, 40, 150}) {
      const Matrix<double> H = random_psd(m, std::max<Index>(1, m / 2), 1), R = random_matrix(m, 3, 2);
      Vector<double> delta(3);
      delta << 0.2, 2, 0.7;
      const ShiftedPath path(lower_of(H), R, delta, 0.01, want_vectors, {});
      const auto found = path.solve(alphas, {});
      ASSERT_EQ(found.size(), alphas.size());
      for (std::size_t i = 0; i < alphas.size(); ++i) {
        for (Index j = 0; j < 3; ++j) {
          const auto system = shifted(H, delta[j], alphas[i]).partialPivLu();
          EXPECT_LT(max_difference(found[i].col(j), system.solve(Eigen::VectorXd(R.col(j)))), 1e-8) << m;
          const double trace = system.solve(Eigen::MatrixXd(delta[j] * H)).trace();
          EXPECT_NEAR(path.degrees_of_freedom(delta[j], alphas[i]), trace, 1e-9 * static_cast<double>(m));
        }
      }
    }
  }
}

// An alpha below the rounding of H: the solution is that of one fit, which counts such eigenvalues as zero.
TEST(ShiftedPath, SingularToRoundingIsSolvedAsOneFitSolvesIt) {
  const Matrix<double> B = random_matrix(30, 6, 3), H = B * B.transpose();
  const Matrix<double> R = H * random_matrix(30, 2, 4);
  const Vector<double> delta = Vector<double>::Ones(2);
  const ShiftedPath path(lower_of(H), R, delta, 1e-17, false, {});
  const Matrix<double> found = path.solve(1e-17, {});
  Matrix<double> buffer = H, single = R;
  SolveReport report;
  solve_shifted(buffer.data(), 30, 30, delta, 0.0, single, {}, report);
  EXPECT_LT(max_difference(found, single), 1e-9 * single.cwiseAbs().maxCoeff());
  EXPECT_NEAR(path.degrees_of_freedom(1, 1e-17), 6, 1e-9);
  EXPECT_EQ((path.values().array() > 0).count(), 6);
}

TEST(ShiftedPath, ZeroMatrixLeavesTheRightSideOverAlpha) {
  const Matrix<double> R = random_matrix(7, 2, 5);
  const ShiftedPath path(Matrix<double>::Zero(7, 7), R, Vector<double>::Ones(2), 0.5, false, {});
  EXPECT_LT(max_difference(path.solve(0.5, {}), 2 * R), 1e-15);
  EXPECT_EQ(path.degrees_of_freedom(1, 0.5), 0);
}

}  // namespace
}  // namespace carmina
