// tests/laws/kernel_laws.cpp -- what every scalar kernel must satisfy; a new kernel joins by one line in AllKernels.
#include <gtest/gtest.h>
#include <carmina/features/kernel_map.hpp>
#include <carmina/features/map_operations.hpp>
#include <carmina/kernels/kernel.hpp>

#include <Eigen/Eigenvalues>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;

template <class K>
class KernelLaws : public ::testing::Test {};
using AllKernels = ::testing::Types<Gaussian>;
TYPED_TEST_SUITE(KernelLaws, AllKernels);

TYPED_TEST(KernelLaws, IsSymmetricPositiveAndOneAtZero) {
  for (const Index d : {1, 2, 7}) {
    const Matrix<double> X = random_matrix(40, d, static_cast<std::uint64_t>(d));
    const Matrix<double> K = kernel_matrix<double>(TypeParam(0.8), X, X);
    EXPECT_LT(max_difference(K, K.transpose()), 1e-14);
    EXPECT_LT((K.diagonal().array() - 1).abs().maxCoeff(), 1e-14);
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(K).eigenvalues().minCoeff(), -1e-12);
  }
}

TYPED_TEST(KernelLaws, DependsOnScaledDifferencesAlone) {
  const Matrix<double> X = random_matrix(20, 3, 5), Z = random_matrix(11, 3, 6);
  const std::vector<double> widths = {0.5, 2.0, 1.3};
  Matrix<double> Xs = X, Zs = Z;
  for (Index j = 0; j < 3; ++j) {
    Xs.col(j) /= widths[static_cast<std::size_t>(j)];
    Zs.col(j) /= widths[static_cast<std::size_t>(j)];
  }
  const Matrix<double> K = kernel_matrix<double>(TypeParam(widths), X, Z);
  EXPECT_LT(max_difference(K, kernel_matrix<double>(TypeParam(1.0), Xs, Zs)), 1e-13);
  const Matrix<double> far = X.array() + 1e5, far_z = Z.array() + 1e5;
  EXPECT_LT(max_difference(K, kernel_matrix<double>(TypeParam(widths), far, far_z)), 1e-9);
}

// Offsets far larger than the width do not spoil float values.
TYPED_TEST(KernelLaws, FloatSurvivesALargeOffset) {
  const Matrix<double> X = (random_matrix(30, 2, 7).array() * 8 + 2000).round();  // exact in float
  const Matrix<float> Xf = X.cast<float>();
  EXPECT_LT(max_difference(kernel_matrix<float>(TypeParam(10.0), Xf, Xf), kernel_matrix<double>(TypeParam(10.0), X, X)),
            1e-5);
}

// E[phi(x).phi(z)] = k(x, z): with D frequencies each entry has standard deviation at most D^(-1/2) / sqrt(2); the mean
// of 400 entries' squared errors is within a factor of its expectation, both directions. Fixed seeds.
TYPED_TEST(KernelLaws, FeaturesEstimateTheKernelAtTheMonteCarloRate) {
  const Matrix<double> X = random_matrix(20, 3, 8);
  const TypeParam kernel(1.5);
  const Matrix<double> K = kernel_matrix<double>(kernel, X, X);
  std::vector<double> log_count, log_error;
  for (Index D = 64; D <= 16384; D *= 4) {
    double square = 0;
    constexpr int seeds = 24;
    for (int seed = 0; seed < seeds; ++seed) {
      const FourierMap<double> map(kernel, 3, 2 * D, static_cast<std::uint64_t>(seed));
      Matrix<double> phi(20, 2 * D);
      evaluate(map, X, View<double>(phi), Execution{});
      square += (phi * phi.transpose() - K).squaredNorm() / (400 * seeds);
    }
    log_count.push_back(std::log(double(D)));
    log_error.push_back(std::log(square) / 2);
    // V = (1 + k(2 delta) - 2 k(delta)^2) / (2 D), SPEC 1e.
    double expected = 0;
    const Matrix<double> K2 = kernel_matrix<double>(kernel, 2 * X, 2 * X);
    expected = ((1 + K2.array() - 2 * K.array().square()) / 2).mean() / double(D);
    EXPECT_NEAR(square / expected, 1.0, 0.3) << D;
  }
  const auto n = static_cast<double>(log_count.size());
  double mx = 0, my = 0, sxy = 0, sxx = 0;
  for (std::size_t i = 0; i < log_count.size(); ++i) mx += log_count[i] / n, my += log_error[i] / n;
  for (std::size_t i = 0; i < log_count.size(); ++i) {
    sxy += (log_count[i] - mx) * (log_error[i] - my);
    sxx += (log_count[i] - mx) * (log_count[i] - mx);
  }
  EXPECT_NEAR(sxy / sxx, -0.5, 0.05);
}

TYPED_TEST(KernelLaws, ChecksItsParameters) {
  EXPECT_THROW(TypeParam(0.0), Error);
  EXPECT_THROW(TypeParam(-1.0), Error);
  EXPECT_THROW(TypeParam(std::vector<double>{1.0, std::nan("")}), Error);
  EXPECT_THROW(TypeParam(std::vector<double>{}), Error);
  const Matrix<double> X = random_matrix(3, 3, 9);
  EXPECT_THROW(kernel_matrix<double>(TypeParam(std::vector<double>{1.0, 2.0}), X, X), Error);
  EXPECT_THROW(kernel_matrix<double>(TypeParam(1.0), X, random_matrix(3, 2, 9)), Error);
}

TEST(Kernels, AreFoundByName) {
  EXPECT_EQ(kernel_name(make_scalar_kernel("gaussian", 2.0)), "gaussian");
  EXPECT_THROW(make_scalar_kernel("gausian", 2.0), Error);
}

}  // namespace
}  // namespace carmina
