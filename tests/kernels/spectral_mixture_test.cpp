// tests/kernels/spectral_mixture_test.cpp -- a spectral mixture as a kernel: its values, weight, frequencies and
// refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/kernels/kernel.hpp>
#include "features/fourier_map.hpp"
#include "features/kernel_map.hpp"
#include "features/operator_map.hpp"
#include "kernels/mixture_math.hpp"

#include <numbers>

#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using ::testing::HasSubstr;
using testing::max_difference;
using testing::random_matrix;

SpectralMixture example(const char* family = "gaussian") {
  return SpectralMixture(Vector<double>{{2.0, 0.5}}, Matrix<double>{{0.2, 0.0}, {-0.1, 0.4}},
                         Matrix<double>{{0.05, 0.1}, {0.2, 0.03}}, family);
}

TEST(SpectralMixture, IsTheMixtureWithItsWeightsSumApart) {
  const Matrix<double> X = random_matrix(7, 2, 1), Z = random_matrix(5, 2, 2);
  for (const char* family : {"gaussian", "laplace"}) {
    const SpectralMixture kernel = example(family);
    Matrix<double> expected(7, 5);
    mixture_values(kernel.mixture(), X, Z, expected, Execution{});
    EXPECT_LT(max_difference(2.5 * kernel_matrix<double>(kernel, X, Z), expected), 1e-14);
    const Kernel whole = kernel;
    ASSERT_EQ(whole.terms().size(), 1u);
    EXPECT_EQ(whole.terms()[0].weight, 2.5);
    Matrix<double> A(2, 2);
    A << 1, 0.5, 0.5, 2;
    EXPECT_EQ(Kernel(Decomposable(kernel, A)).terms()[0].weight, 2.5);
    EXPECT_EQ(Kernel(CurlFree(kernel)).terms()[0].weight, 2.5);
    // Blocks of an operator map have the weight in them.
    const OperatorMap<double> map(whole, Z, 1);
    Matrix<double> blocks(7, 5);
    map.blocks(X, blocks.data(), Execution{});
    EXPECT_LT(max_difference(blocks, expected), 1e-14);
  }
}

TEST(SpectralMixture, IsEqualByItsNumbers) {
  EXPECT_EQ(example(), example());
  EXPECT_FALSE(example() == example("laplace"));
  EXPECT_FALSE(example() == SpectralMixture(Vector<double>{{1.0}}, Matrix<double>{{0.1}}, Matrix<double>{{0.1}}));
  const SpectralMixture copy = example();
  EXPECT_EQ(ScalarKernel(copy), ScalarKernel(example()));
}

// E cos<w, delta> = k(delta) / k(0) within 5 standard errors, 2 10^5 draws; 4096 quasi-random ones are closer by far.
TEST(SpectralMixture, FrequenciesHaveItsMeasure) {
  const Matrix<double> delta = 0.8 * random_matrix(1, 2, 3), zero = Matrix<double>::Zero(1, 2);
  for (const char* family : {"gaussian", "laplace"}) {
    const ScalarKernel kernel = example(family);
    const double k = kernel_matrix<double>(kernel, delta, zero)(0, 0);
    const auto estimate = [&](Index count, Sampling sampling) {
      const Matrix<double> W = sample_frequencies(kernel, 2, count, Random(5, Stream::frequencies), sampling);
      return (W * delta.transpose()).array().cos().mean();
    };
    EXPECT_NEAR(estimate(200'000, Sampling::iid), k, 5 / std::sqrt(2.0 * 200'000)) << family;
    EXPECT_NEAR(estimate(4096, Sampling::sobol), k, 2e-3) << family;
    const Matrix<double> W = sample_frequencies(kernel, 2, 200'000, Random(6, Stream::frequencies));
    const double mean_square = example(family).mean_square_frequency();
    EXPECT_NEAR(W.rowwise().squaredNorm().mean() / mean_square, 1, 0.02) << family;
    EXPECT_EQ(W.topRows(10), sample_frequencies(kernel, 2, 10, Random(6, Stream::frequencies)));
  }
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SpectralMixture, SaysWhatIsWrong) {
  const ScalarKernel kernel = example();
  EXPECT_THAT(message([&] { sample_frequencies(kernel, 2, 8, Random(1), Sampling::orthogonal); }),
              HasSubstr("orthogonal"));
  EXPECT_THAT(message([&] { sample_frequencies(kernel, 3, 8, Random(1)); }), HasSubstr("2 columns, found 3"));
  EXPECT_THAT(message([&] { kernel_matrix<double>(kernel, random_matrix(3, 1, 1), random_matrix(3, 1, 1)); }),
              HasSubstr("2 columns, found 1"));
  EXPECT_THAT(message([&] { (void)length_scale(kernel); }), HasSubstr("no length scale"));
  EXPECT_THAT(message([&] { make_scalar_kernel("spectral_mixture", std::nullopt); }), HasSubstr("no kernel named"));
  EXPECT_THAT(message([] { SpectralMixture(Vector<double>{{-1.0}}, Matrix<double>{{0.1}}, Matrix<double>{{0.1}}); }),
              HasSubstr("weights must be positive"));
  EXPECT_THAT(message([] { SpectralMixture(Vector<double>{{1.0}}, Matrix<double>{{0.1}}, Matrix<double>{{0.0}}); }),
              HasSubstr("scales must be positive"));
  EXPECT_THAT(message([] { example("cauchy"); }), HasSubstr("no mixture family"));
}

}  // namespace
}  // namespace carmina
