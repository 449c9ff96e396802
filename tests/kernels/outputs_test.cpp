// tests/kernels/outputs_test.cpp -- output matrices by their definitions, and what they refuse.
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/kernels/coupling.hpp>

#include <Eigen/LU>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

Matrix<double> path_graph(Index p) {
  Matrix<double> adjacency = Matrix<double>::Zero(p, p);
  for (Index i = 0; i + 1 < p; ++i) adjacency(i, i + 1) = adjacency(i + 1, i) = 1;
  return adjacency;
}

Matrix<double> laplacian(const Matrix<double>& adjacency) {
  Matrix<double> L = -adjacency;
  L.diagonal() += adjacency.rowwise().sum();
  return L;
}

TEST(Outputs, GraphIsTheInverseOfTheRegularisedLaplacian) {
  const Matrix<double> adjacency = path_graph(6), I = Matrix<double>::Identity(6, 6);
  for (const double mu : {0.0, 0.3, 0.9}) {
    const Matrix<double> A = outputs::graph(adjacency, mu);
    EXPECT_LT(max_difference(A * (mu * laplacian(adjacency) + (1 - mu) * I), I), 1e-12);
  }
  EXPECT_THROW(outputs::graph(adjacency, 1.0), Error);  // mathematics.md 5.12
  EXPECT_THROW(outputs::graph(random_matrix(3, 2, 0), 0.5), Error);
}

TEST(Outputs, GraphPinvSatisfiesPenrose) {
  const Matrix<double> L = laplacian(path_graph(7)), P = outputs::graph_pinv(path_graph(7));
  EXPECT_LT(max_difference(L * P * L, L), 1e-10);
  EXPECT_LT(max_difference(P * L * P, P), 1e-10);
}

TEST(Outputs, CovarianceQuantilesSimplexIdentity) {
  const Matrix<double> Y = random_matrix(50, 3, 1);
  const Matrix<double> A = outputs::covariance(Y);
  const Eigen::VectorXd mean = Y.colwise().mean();
  double expected = 0;
  for (Index i = 0; i < 50; ++i) expected += (Y(i, 0) - mean[0]) * (Y(i, 2) - mean[2]) / 49;
  EXPECT_NEAR(A(0, 2), expected, 1e-12);
  EXPECT_NEAR(outputs::quantiles({0.1, 0.5, 0.9}, 2.0)(0, 2), std::exp(-2 * 0.64), 1e-15);
  EXPECT_THROW(outputs::quantiles({0.1, 1.5}, 2.0), Error);
  const Matrix<double> S = outputs::simplex(4);
  EXPECT_NEAR(S(0, 0), 1.0, 1e-15);
  EXPECT_NEAR(S(0, 1), -1.0 / 3, 1e-15);
  EXPECT_EQ(outputs::identity(2), Matrix<double>(Matrix<double>::Identity(2, 2)));
  EXPECT_THROW(outputs::identity(0), Error);
}

TEST(OutputFactor, RootsMatricesOfAnyRank) {
  for (const Index p : {1, 2, 5}) {
    for (Index rank = 1; rank <= p; ++rank) {
      const Matrix<double> A = random_psd(p, rank, static_cast<std::uint64_t>(10 * p + rank));
      const OutputFactor factor = factor_output_matrix(A);
      EXPECT_EQ(factor.delta.size(), rank);
      EXPECT_LT(max_difference(factor.root() * factor.root().transpose(), A), 1e-12);
    }
  }
}

TEST(OutputFactor, RefusesWhatIsNotPositiveSemiDefinite) {
  Matrix<double> A = Matrix<double>::Identity(2, 2);
  A(0, 0) = -0.1;
  EXPECT_THROW(factor_output_matrix(A), Error);
  A << 1, 0.5, 0.2, 1;
  EXPECT_THROW(factor_output_matrix(A), Error);
  EXPECT_THROW(factor_output_matrix(random_matrix(2, 3, 0)), Error);
  EXPECT_THROW(factor_output_matrix(Matrix<double>::Zero(2, 2)), Error);
  A << 1, std::nan(""), 0, 1;
  EXPECT_THROW(factor_output_matrix(A), Error);
}

}  // namespace
}  // namespace carmina
