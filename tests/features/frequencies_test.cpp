// tests/features/frequencies_test.cpp -- orthogonal and quasi-random frequencies: unbiased, and better than independent
// ones.
#include <gtest/gtest.h>
#include "features/fourier_map.hpp"
#include "features/kernel_map.hpp"

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;

std::vector<ScalarKernel> all_kernels() {
  return {Gaussian(1.3), Laplacian(1.5), Matern(1.0, 0.5), Matern(1.0, 2.5), Cauchy(1.2), RationalQuadratic(1.0, 0.8)};
}

Matrix<double> estimate(const ScalarKernel& kernel, const Matrix<double>& X, Index count, std::uint64_t seed,
                        Sampling sampling) {
  const Matrix<double> W = sample_frequencies(kernel, X.cols(), count, Random(seed, Stream::frequencies), sampling);
  const Matrix<double> phases = X * W.transpose();
  const Matrix<double> C = phases.array().cos(), S = phases.array().sin();
  return (C * C.transpose() + S * S.transpose()) / static_cast<double>(count);
}

// The mean over 400 seeds of maps with 32 frequencies is the kernel: every entry within 5 standard errors of
// independent draws.
TEST(Frequencies, EverySamplingIsUnbiased) {
  const Matrix<double> X = random_matrix(6, 4, 1);
  for (const ScalarKernel& kernel : all_kernels()) {
    for (const Sampling sampling : {Sampling::iid, Sampling::orthogonal, Sampling::sobol, Sampling::hadamard}) {
      const bool radial = sampling == Sampling::orthogonal || sampling == Sampling::hadamard;
      if (radial && std::holds_alternative<Laplacian>(kernel)) continue;
      Matrix<double> mean = Matrix<double>::Zero(6, 6);
      constexpr int seeds = 400;
      for (int seed = 0; seed < seeds; ++seed)
        mean += estimate(kernel, X, 32, static_cast<std::uint64_t>(seed), sampling) / seeds;
      EXPECT_LT(max_difference(mean, kernel_matrix<double>(kernel, X, X)), 5 / std::sqrt(2.0 * 32 * seeds))
          << kernel_name(kernel);
    }
  }
}

// Squared kernel error of 64 frequencies in 8 dimensions, over 60 seeds: below that of independent ones.
TEST(Frequencies, OrthogonalAndQuasiRandomOnesHaveLessError) {
  const Matrix<double> X = random_matrix(15, 8, 2);
  const Gaussian kernel(3.0);
  const Matrix<double> K = kernel_matrix<double>(kernel, X, X);
  const auto error = [&](Sampling sampling) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) sum += (estimate(kernel, X, 64, seed, sampling) - K).squaredNorm();
    return sum;
  };
  const double iid = error(Sampling::iid);
  EXPECT_LT(error(Sampling::orthogonal), 0.8 * iid);
  EXPECT_LT(error(Sampling::sobol), 0.8 * iid);
}

TEST(Frequencies, BlocksAreOrthogonal) {
  const Matrix<double> W =
      sample_frequencies(Gaussian(1.0), 5, 12, Random(1, Stream::frequencies), Sampling::orthogonal);
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < i; ++j) EXPECT_NEAR(W.row(i).dot(W.row(j)), 0, 1e-12);
  }
  EXPECT_GT(std::abs(W.row(0).dot(W.row(5))), 1e-6);
}

TEST(Frequencies, OrthogonalNeedsARadialKernel) {
  EXPECT_THROW(sample_frequencies(Laplacian(1.0), 3, 6, Random(0, Stream::frequencies), Sampling::orthogonal), Error);
  EXPECT_THROW(parse_sampling("magic"), Error);
  EXPECT_EQ(parse_sampling("sobol"), Sampling::sobol);
}

TEST(Frequencies, SamplingsAreKnownByTheirNames) {
  EXPECT_EQ(sampling_names(), (std::vector<std::string>{"iid", "orthogonal", "sobol", "hadamard", "phases"}));
  for (const std::string& name : sampling_names()) EXPECT_EQ(sampling_name(parse_sampling(name)), name);
  EXPECT_EQ(parse_sampling("sobol"), Sampling::sobol);
  EXPECT_THROW(parse_sampling("Sobol"), Error);
}

}  // namespace
}  // namespace carmina
