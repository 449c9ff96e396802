// tests/solvers/row_sweeps_test.cpp -- narrow kernels: sweeps find the minimum that Newton's steps find.
#include "solvers/losses/row_sweeps.hpp"
#include "features/feature_rows.hpp"
#include "solvers/losses/convex_loss.hpp"

#include <gtest/gtest.h>

#include "support/random_matrix.hpp"

namespace carmina::row_sweeps_test {
namespace {

using testing::random_matrix;

Matrix<double> kernel_of(Index n, double width) {
  const Matrix<double> X = random_matrix(n, 4, 1);
  return Matrix<double>::NullaryExpr(n, n, [&](Index i, Index j) {
    return 1.5 * std::exp(-(X.row(i) - X.row(j)).squaredNorm() / (2 * width * width));
  });
}

TEST(RowSweeps, AreForNarrowKernels) {
  EXPECT_TRUE(narrow_kernel(Matrix<double>::Identity(100, 100)));
  EXPECT_TRUE(narrow_kernel(kernel_of(300, 0.4)));
  EXPECT_FALSE(narrow_kernel(kernel_of(300, 3.0)));
  EXPECT_FALSE(narrow_kernel(Matrix<double>::Zero(10, 10)));
}

// Of one output and of several, weighted or not, with and without an intercept; a zero weight, and a target that is
// missing.
TEST(RowSweeps, EndAtAMinimumWithASmallGap) {
  const Index n = 200;
  const Matrix<double> K = kernel_of(n, 0.4);
  ASSERT_TRUE(narrow_kernel(K));
  const auto features = kernel_rows(K, {});
  const std::vector<Loss> all = {EpsilonInsensitive(0.1), Huber(0.5), Absolute()};
  for (const Loss& loss : all) {
    for (const bool intercept : {false, true}) {
      for (const bool weighted : {false, true}) {
        Vector<double> w = weighted ? Vector<double>(random_matrix(n, 1, 4).cwiseAbs()) : Vector<double>(0);
        if (weighted) w[5] = 0;
        const Matrix<double> Y = (random_matrix(n, 1, 3).array() + 2).matrix();
        const CoefficientSpace space(OutputFactor{}, n, 1);
        SolveReport report;
        const LinearSolution found = solve_convex_loss(*features, space, {loss, Y, w, 0.3, intercept},
                                                       Direction::newton, {500, 1e-8}, {}, report);
        EXPECT_EQ(report.status, SolveStatus::converged) << report.message;
        EXPECT_LE(report.residual, 1e-8);
        if (intercept) {
          EXPECT_NEAR(found.coefficients.sum(), 0, 1e-4);
        }
      }
    }
  }
}

TEST(RowSweeps, AloneAreNearTheMinimum) {
  const Index n = 200;
  const Matrix<double> K = kernel_of(n, 0.4), Y = random_matrix(n, 2, 3);
  const auto features = kernel_rows(K, {});
  const CoefficientSpace space(OutputFactor{}, n, 2);
  const LossRows rows(Pinball({0.2, 0.8}), Y, {}, {});
  const LossModel model(*features, space, rows, 0.3, true, {});
  Point at;
  const Matrix<double> G = sweep_rows(model, at);
  Matrix<double> F;
  model.values(at, F);
  const double value = rows.value(F) + model.penalty(at);
  EXPECT_LT(value - model.lower_bound(G, at), 1e-4 * value);
  Point checked = at;
  model.set_image(checked);
  EXPECT_LT((checked.image - at.image).norm(), 1e-10 * at.image.norm());
}

}  // namespace
}  // namespace carmina::row_sweeps_test
