// tests/laws/kernel_laws.cpp -- what every scalar kernel must satisfy, and what those with a spectral measure and
// stationary ones must beside; a new kernel joins by being in the variant ScalarKernel.
#include <gtest/gtest.h>
#include <carmina/kernels/kernel.hpp>
#include "features/kernel_map.hpp"
#include "features/map_operations.hpp"
#include "features/operator_map.hpp"

#include <Eigen/Eigenvalues>

#include "support/alternatives.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::random_matrix;

// A kernel of each type for d inputs, and rows that it is for.
template <class K>
K some_kernel(Index) {
  return K(0.8);
}
template <>
Polynomial some_kernel(Index) {
  return Polynomial(4, 0.3, 0.7);
}
template <>
Sobolev1 some_kernel(Index) {
  return {};
}
template <>
SpectralMixture some_kernel(Index d) {
  return SpectralMixture(Vector<double>{{2.0, 0.3, 0.7}}, 0.3 * random_matrix(3, d, 31),
                         0.05 + 0.1 * random_matrix(3, d, 32).array().abs(), "laplace");
}
template <>
Linear some_kernel(Index) {
  return {};
}
template <>
Constant some_kernel(Index) {
  return {};
}
template <>
Periodic some_kernel(Index) {
  return Periodic(0.8, 1.7);
}
// Of all inputs and of some, one of them in two factors.
template <>
Product some_kernel(Index d) {
  return Product({{Matern(1.1, 2.5), {}},
                  {Gaussian(0.9), InputColumns(std::vector<Index>{0})},
                  {Periodic(1.0, 2.0), InputColumns(std::vector<Index>{d - 1})}});
}
// 1 + <x, z>^2, in loops.
template <>
Callable some_kernel(Index) {
  return Callable([](ConstView<double> X, ConstView<double> Z, View<double> out) {
    for (Index i = 0; i < X.rows(); ++i) {
      for (Index j = 0; j < Z.rows(); ++j) out(i, j) = 1 + std::pow(X.row(i).dot(Z.row(j)), 2);
    }
  });
}
template <class K, Real T = double>
Matrix<T> some_rows(Index n, Index d, std::uint64_t seed) {
  const Matrix<T> X = random_matrix<T>(n, d, seed);
  return std::same_as<K, Sobolev1> ? Matrix<T>(X.cwiseAbs()) : X;
}

template <class K>
class KernelLaws : public ::testing::Test {};
using AllKernels = testing::Alternatives<ScalarKernel>::Types;
TYPED_TEST_SUITE(KernelLaws, AllKernels);

template <class K>
struct IsStationary : std::bool_constant<Stationary<K>> {};
template <class K>
concept DrawsFrequencies = requires(const K& k, const Random& random, double* out) { k.frequency(random, 0, out); };
template <class K>
concept DrawsFrequenciesOfAnyInputs =
    requires(const K& k, const Random& random, double* out) { k.frequency(random, 0, 1, out); };
template <class K>
struct HasMeasure : std::bool_constant<Stationary<K> || DrawsFrequencies<K> || DrawsFrequenciesOfAnyInputs<K> ||
                                       std::same_as<K, Product>> {};

TYPED_TEST(KernelLaws, IsOfTheKindThatItsFunctionsSay) {
  EXPECT_EQ(is_stationary(some_kernel<TypeParam>(2)), IsStationary<TypeParam>::value);
  EXPECT_EQ(has_spectral_measure(some_kernel<TypeParam>(2)), HasMeasure<TypeParam>::value);
}

TYPED_TEST(KernelLaws, IsSymmetricAndPositive) {
  for (const Index d : {1, 2, 7}) {
    const Matrix<double> X = some_rows<TypeParam>(40, d, static_cast<std::uint64_t>(d));
    const Matrix<double> K = kernel_matrix<double>(some_kernel<TypeParam>(d), X, X);
    const double scale = K.cwiseAbs().maxCoeff();
    EXPECT_LT(max_difference(K, K.transpose()), 1e-14 * scale);
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(K).eigenvalues().minCoeff(), -1e-12 * scale);
    EXPECT_LT((kernel_diagonal<double>(some_kernel<TypeParam>(d), X) - K.diagonal()).cwiseAbs().maxCoeff(),
              1e-13 * scale);
  }
}

// A value depends on its two rows alone: neither on the tiles that it was made in, nor on the threads.
TYPED_TEST(KernelLaws, BlocksAreThoseOfTheWhole) {
  const ScalarKernel kernel = some_kernel<TypeParam>(3);
  const Matrix<double> X = some_rows<TypeParam>(600, 3, 15), Z = some_rows<TypeParam>(300, 3, 16);
  const Matrix<double> K = kernel_matrix<double>(kernel, X, Z, Execution{.threads = 1});
  EXPECT_EQ(K, kernel_matrix<double>(kernel, X, Z, Execution{.threads = 3}));
  const double scale = K.cwiseAbs().maxCoeff();
  const Matrix<double> corner = kernel_matrix<double>(kernel, X.bottomRows(1), Z.bottomRows(5));
  EXPECT_LT(max_difference(corner, K.bottomRightCorner(1, 5)), 1e-13 * scale);
  const Matrix<float> Xf = X.cast<float>(), Zf = Z.cast<float>();
  EXPECT_LT(max_difference(kernel_matrix<float>(kernel, Xf, Zf), K), 1e-5 * scale);
  EXPECT_THROW(kernel_matrix<double>(kernel, X, Z.leftCols(2)), Error);
}

// The blocks of an operator-valued kernel are k(x, z) A, over more rows and anchors than one task and one run have.
TYPED_TEST(KernelLaws, OperatorBlocksAreTheValuesTimesA) {
  const ScalarKernel kernel = some_kernel<TypeParam>(2);
  const Matrix<double> X = some_rows<TypeParam>(35, 2, 17), Z = some_rows<TypeParam>(300, 2, 18);
  Matrix<double> A(2, 2);
  A << 2, 0.5, 0.5, 1;
  // Together with an independent term, so that no shorter way is taken.
  const Kernel sum = 0.3 * Decomposable(kernel, A) + Kernel(Term{1, kernel, Independent{}});
  const Matrix<double> M = 0.3 * own_weight(kernel) * A + Matrix<double>::Identity(2, 2),
                       K = kernel_matrix<double>(kernel, X, Z);
  const OperatorMap<double> map(sum, Z, 2);
  Matrix<double> blocks(35 * 300, 4);
  map.blocks(X, blocks.data(), Execution{});
  const Matrix<double> expected =
      Eigen::Map<const Vector<double>>(K.data(), K.size()) * Eigen::Map<const Vector<double>>(M.data(), 4).transpose();
  const double scale = expected.cwiseAbs().maxCoeff();
  EXPECT_LT(max_difference(blocks, expected), 1e-13 * scale);

  const Matrix<double> gram = map.gram(Execution{});
  const Matrix<double> KZ = kernel_matrix<double>(kernel, Z, Z);
  double worst = 0;
  for (Index i = 0; i < 600; ++i) {
    for (Index j = 0; j <= i; ++j) worst = std::max(worst, std::abs(gram(i, j) - KZ(i / 2, j / 2) * M(i % 2, j % 2)));
  }
  EXPECT_LT(worst, 1e-12 * scale);
  EXPECT_LT(max_difference(map.diagonal(), gram.diagonal()), 1e-12 * scale);

  const Matrix<double> C = random_matrix(300, 2, 19);
  Matrix<double> out(35, 2);
  map.apply(X, C, View<double>(out), Execution{});
  EXPECT_LT(max_difference(out, K * C * M), 1e-10 * scale);
}

template <class K>
class MeasureLaws : public ::testing::Test {};
using MeasuredKernels = testing::Alternatives<ScalarKernel, HasMeasure>::Types;
TYPED_TEST_SUITE(MeasureLaws, MeasuredKernels);

TYPED_TEST(MeasureLaws, IsOneAtZero) {
  for (const Index d : {1, 2, 7}) {
    EXPECT_TRUE(has_spectral_measure(some_kernel<TypeParam>(d)));
    const Matrix<double> X = random_matrix(40, d, static_cast<std::uint64_t>(d));
    const Matrix<double> K = kernel_matrix<double>(some_kernel<TypeParam>(d), X, X);
    EXPECT_LT((K.diagonal().array() - 1).abs().maxCoeff(), 1e-13);
  }
}

TYPED_TEST(MeasureLaws, DependsOnDifferencesAlone) {
  const Matrix<double> X = random_matrix(20, 3, 5), Z = random_matrix(11, 3, 6);
  const Matrix<double> far = X.array() + 1e5, far_z = Z.array() + 1e5;
  const TypeParam kernel = some_kernel<TypeParam>(3);
  EXPECT_LT(max_difference(kernel_matrix<double>(kernel, X, Z), kernel_matrix<double>(kernel, far, far_z)), 1e-9);
}

// E[phi(x).phi(z)] = k(x, z): with D frequencies each entry has standard deviation at most D^(-1/2) / sqrt(2); the mean
// of 400 entries' squared errors is within a factor of its expectation, both directions. Fixed seeds.
TYPED_TEST(MeasureLaws, FeaturesEstimateTheKernelAtTheMonteCarloRate) {
  const Matrix<double> X = random_matrix(20, 3, 8);
  const TypeParam kernel = some_kernel<TypeParam>(3);
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
    // V = (1 + k(2 delta) - 2 k(delta)^2) / (2 D), mathematics.md 1e.
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

template <class K>
class StationaryLaws : public ::testing::Test {};
using StationaryKernels = testing::Alternatives<ScalarKernel, IsStationary>::Types;
TYPED_TEST_SUITE(StationaryLaws, StationaryKernels);

TYPED_TEST(StationaryLaws, DependsOnScaledDifferencesAlone) {
  static_assert(Stationary<TypeParam> && !Pairwise<TypeParam>);
  const Matrix<double> X = random_matrix(20, 3, 5), Z = random_matrix(11, 3, 6);
  const std::vector<double> widths = {0.5, 2.0, 1.3};
  Matrix<double> Xs = X, Zs = Z;
  for (Index j = 0; j < 3; ++j) {
    Xs.col(j) /= widths[static_cast<std::size_t>(j)];
    Zs.col(j) /= widths[static_cast<std::size_t>(j)];
  }
  const Matrix<double> K = kernel_matrix<double>(TypeParam(widths), X, Z);
  EXPECT_LT(max_difference(K, kernel_matrix<double>(TypeParam(1.0), Xs, Zs)), 1e-13);
}

// Offsets far larger than the width do not spoil float values.
TYPED_TEST(StationaryLaws, FloatSurvivesALargeOffset) {
  const Matrix<double> X = (random_matrix(30, 2, 7).array() * 8 + 2000).round();  // exact in float
  const Matrix<float> Xf = X.cast<float>();
  EXPECT_LT(max_difference(kernel_matrix<float>(TypeParam(10.0), Xf, Xf), kernel_matrix<double>(TypeParam(10.0), X, X)),
            1e-5);
}

TYPED_TEST(StationaryLaws, ChecksItsParameters) {
  EXPECT_THROW(TypeParam(0.0), Error);
  EXPECT_THROW(TypeParam(-1.0), Error);
  EXPECT_THROW(TypeParam(std::vector<double>{1.0, std::nan("")}), Error);
  EXPECT_THROW(TypeParam(std::vector<double>{}), Error);
  const Matrix<double> X = random_matrix(3, 3, 9);
  EXPECT_THROW(kernel_matrix<double>(TypeParam(std::vector<double>{1.0, 2.0}), X, X), Error);
  EXPECT_THROW(kernel_matrix<double>(TypeParam(1.0), X, random_matrix(3, 2, 9)), Error);
}

// The frequencies' stream holds each kernel's parameters back through its name.
TYPED_TEST(StationaryLaws, IsFoundByName) {
  const ScalarKernel kernel = TypeParam(0.7);
  EXPECT_EQ(make_scalar_kernel(kernel_name(kernel), length_scale(kernel), kernel_parameters(kernel)), kernel);
  EXPECT_THROW(make_scalar_kernel(kernel_name(kernel), 1.0, {{"magic", 1.0}}), Error);
}

TEST(Kernels, UnknownNamesAreRefused) { EXPECT_THROW(make_scalar_kernel("gausian", 2.0), Error); }

// mathematics.md 5.12: curl-free and divergence-free need E|w|^2 < infinity.
TEST(Kernels, RoughOnesHaveNoCurlFreeKernel) {
  EXPECT_THROW(CurlFree(Laplacian(1.0)), Error);
  EXPECT_THROW(DivergenceFree(Matern(1.0, 0.5)), Error);
  EXPECT_THROW(CurlFree(Matern(1.0, 1.0)), Error);
  EXPECT_NO_THROW(CurlFree(Matern(1.0, 1.01)));
}

TEST(Kernels, SumsAndMultiplesAreChecked) {
  const Kernel sum = 0.3 * CurlFree(Gaussian(1.0)) + DivergenceFree(Gaussian(2.0));
  EXPECT_EQ(sum.terms().size(), 2u);
  EXPECT_EQ(sum.terms()[0].weight, 0.3);
  EXPECT_EQ(sum.n_outputs(3), 3);
  EXPECT_THROW(-1.0 * Kernel(Gaussian(1.0)), Error);
  EXPECT_THROW(sum.check_dimensions(3, 2), Error);
  EXPECT_THROW(Kernel(DivergenceFree(Gaussian(1.0))).check_dimensions(1, 1), Error);
  EXPECT_THROW(Decomposable(Gaussian(1.0), Matrix<double>::Identity(2, 2)) +
                   Decomposable(Gaussian(1.0), Matrix<double>::Identity(3, 3)),
               Error);
}

// Matern by its Bessel form at half-integers, and between them by the Monte Carlo law above through nu = 0.8, 2.3.
TEST(Matern, BesselFormMeetsTheClosedForms) {
  const Matrix<double> X = random_matrix(15, 2, 12);
  for (const double nu : {0.5, 1.5, 2.5}) {
    const Matrix<double> closed = kernel_matrix<double>(Matern(0.9, nu), X, X);
    const Matrix<double> bessel = kernel_matrix<double>(Matern(0.9, nu + 1e-9), X, X);
    EXPECT_LT(max_difference(closed, bessel), 1e-7) << nu;
    if (nu > 1) {
      for (const double t : {0.0, 1e-3, 0.4, 3.0}) {
        const Slopes a = Matern(1.0, nu).slopes(t), b = Matern(1.0, nu + 1e-9).slopes(t);
        EXPECT_NEAR(a.first, b.first, 1e-6 * std::abs(a.first));
        EXPECT_NEAR(t > 0 ? a.second : 0, t > 0 ? b.second : 0, 1e-6 * std::abs(a.second));
      }
    }
  }
}

// The sampler of every family, also at other parameters: E cos<w, delta> = k(delta) within 5 standard errors, 2 10^5
// draws.
TEST(Kernels, SpectralSamplersAtOtherParameters) {
  const Matrix<double> delta = 0.8 * random_matrix(1, 3, 13), zero = Matrix<double>::Zero(1, 3);
  constexpr Index count = 200'000;
  for (const ScalarKernel& kernel : std::vector<ScalarKernel>{
           Matern(1.0, 0.8), Matern(1.0, 2.3), RationalQuadratic(0.7, 0.4), RationalQuadratic(1.0, 3.0), Cauchy(2.0),
           Laplacian(std::vector<double>{1.0, 2.0, 0.5})}) {
    const Matrix<double> W = sample_frequencies(kernel, 3, count, Random(5, Stream::frequencies));
    const double mean = (W * delta.transpose()).array().cos().mean();
    EXPECT_NEAR(mean, kernel_matrix<double>(kernel, delta, zero)(0, 0), 5 / std::sqrt(2.0 * count))
        << kernel_name(kernel);
  }
}

// Heavy tails: float features still estimate the kernel, since phases are made in double.
TEST(FourierMap, FloatPhasesOfHeavyTailsAreReducedInDouble) {
  const Matrix<double> X = random_matrix(12, 2, 14);
  const Matrix<float> Xf = X.cast<float>();
  const FourierMap<float> map(Laplacian(0.01), 2, 4000, 1);
  ASSERT_GT(map.frequencies().cwiseAbs().maxCoeff(), 1e5f);
  Matrix<float> phi(12, 4000);
  evaluate(map, Xf, View<float>(phi), Execution{});
  double worst = 0;
  for (Index i = 0; i < 12; ++i) {
    for (Index j = 0; j < 2000; ++j) {
      const double phase = Xf.row(i).cast<double>().dot(map.frequencies().row(j).cast<double>());
      worst = std::max(worst, std::abs(phi(i, j) - std::cos(phase) / std::sqrt(2000.0)));
    }
  }
  EXPECT_LT(worst, 1e-6);
}

}  // namespace
}  // namespace carmina
