// tests/features/hadamard_test.cpp -- structured frequencies: their matrix, their law, and the map that never makes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "features/expansion.hpp"
#include "features/map_operations.hpp"

#include <bit>

#include "support/random_matrix.hpp"

namespace carmina::hadamard_test {
namespace {

using ::testing::HasSubstr;
using testing::max_difference;
using testing::random_matrix;

const Random frequencies(1, Stream::frequencies);

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// n^(-3/2) S H D3 H D2 H D1, written as it stands.
Matrix<double> oracle(const HadamardFrequencies& w) {
  const Index n = w.block_size();
  const Matrix<double> H = Matrix<double>::NullaryExpr(
      n, n, [](Index i, Index j) { return std::popcount(static_cast<unsigned>(i & j)) % 2 ? -1.0 : 1.0; });
  Matrix<double> out(w.units(), w.dim_in);
  Index unit = 0;
  for (Index block = 0; block < w.diagonals.rows() / 3; ++block) {
    const auto D = [&](Index k) { return w.diagonals.row(3 * block + k).asDiagonal(); };
    const Matrix<double> Q = H * D(2) * H * D(1) * H * D(0);
    for (Index i = 0; i < n && unit < w.units() && (i == 0 || unit % w.per_term != 0); ++i, ++unit) {
      out.row(unit) = std::pow(double(n), -1.5) * w.lengths[unit] * Q.row(i).head(w.dim_in);
    }
  }
  EXPECT_EQ(unit, w.units());
  return out;
}

TEST(HadamardFrequencies, TheMatrixIsTheProduct) {
  std::vector<double> widths(70);
  for (std::size_t j = 0; j < widths.size(); ++j) widths[j] = 0.5 + 0.1 * double(j);
  for (const auto& [kernel, d, count] : {std::tuple<ScalarKernel, Index, Index>{Gaussian(1.3), 3, 1},
                                         {Gaussian(1.3), 64, 64},
                                         {Matern(0.7, 1.5), 65, 200},
                                         {Gaussian(widths), 70, 300}}) {
    const HadamardFrequencies w = sample_hadamard(kernel, d, count, frequencies);
    EXPECT_EQ(w.block_size(), d <= 64 ? 64 : 128);
    EXPECT_LT(max_difference(w.matrix(), oracle(w)), 1e-12);
    EXPECT_EQ(w.matrix(), sample_frequencies(kernel, d, count, frequencies, Sampling::hadamard));
  }
}

TEST(HadamardFrequencies, ALargerMapBeginsWithASmallerOne) {
  const Matrix<double> small = sample_hadamard(Cauchy(1.0), 100, 90, frequencies).matrix(),
                       large = sample_hadamard(Cauchy(1.0), 100, 500, frequencies).matrix();
  EXPECT_EQ(small, Matrix<double>(large.topRows(90)));
  EXPECT_NE(small, sample_hadamard(Cauchy(1.0), 100, 90, Random(2, Stream::frequencies)).matrix());
}

TEST(HadamardFrequencies, WholeBlocksAreOrthogonal) {
  const Matrix<double> W = sample_hadamard(Gaussian(1.0), 128, 256, frequencies).matrix();
  const Matrix<double> G = W.topRows(128) * W.topRows(128).transpose();
  EXPECT_LT((G - Matrix<double>(G.diagonal().asDiagonal())).cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_GT(std::abs(W.row(0).dot(W.row(128))), 1e-6);
}

// |w|^2 of a Gaussian's is chi^2 with d degrees of freedom, mean d and variance 2 d: 5 standard errors of 20000 draws.
TEST(HadamardFrequencies, LengthsFollowTheRadialLaw) {
  constexpr Index d = 128, count = 20'000;
  const Matrix<double> W = sample_hadamard(Gaussian(0.5), d, count, frequencies).matrix() * 0.5;
  const Vector<double> squares = W.rowwise().squaredNorm();
  const double mean = squares.mean(), variance = (squares.array() - mean).square().mean();
  EXPECT_NEAR(mean, d, 5 * std::sqrt(2.0 * d / count));
  EXPECT_NEAR(variance, 2 * d, 5 * 2 * d * std::sqrt((2 + 12.0 / d) / count));
}

Matrix<double> estimate(const ScalarKernel& kernel, const Matrix<double>& X, Index count, std::uint64_t seed,
                        Sampling sampling) {
  const FourierMap<double> map(kernel, X.cols(), 2 * count, seed, {}, sampling);
  Matrix<double> phi(X.rows(), map.n_features());
  evaluate(map, X, View<double>(phi), Execution{});
  return phi * phi.transpose();
}

// Root mean square of the kernel error over seeds. From one block to 16 it falls by four (slope one half); it is not
// above that of independent frequencies, and in many dimensions, where a block's orthogonality tells, well below.
TEST(HadamardFrequencies, KernelErrorFallsWithTheSquareRoot) {
  for (const auto& [d, block, part_of_iid] :
       {std::tuple<Index, Index, double>{3, 64, 1.1}, {100, 128, 0.8}, {256, 256, 0.6}}) {
    const Matrix<double> X = random_matrix(12, d, 4);
    const Gaussian kernel(std::sqrt(2 * double(d)));
    const Matrix<double> K = kernel_matrix<double>(kernel, X, X);
    const auto error = [&](Index count, Sampling sampling) {
      double sum = 0;
      for (std::uint64_t seed = 0; seed < 30; ++seed)
        sum += (estimate(kernel, X, count, seed, sampling) - K).squaredNorm();
      return std::sqrt(sum);
    };
    const double coarse = error(block, Sampling::hadamard), fine = error(16 * block, Sampling::hadamard);
    EXPECT_NEAR(std::log2(coarse / fine) / 4, 0.5, 0.06) << d;
    EXPECT_LT(coarse, part_of_iid * error(block, Sampling::iid)) << d;
    EXPECT_LT(fine, part_of_iid * error(16 * block, Sampling::iid)) << d;
  }
}

template <class T>
class StructuredMapTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StructuredMapTest, Precisions);

// The slow twin: the same map with its matrix kept, in double. Tiles within blocks, across blocks and terms; one row.
TYPED_TEST(StructuredMapTest, EqualsTheMapThatKeepsTheMatrix) {
  using T = TypeParam;
  const Kernel one(Gaussian(3.0)), two = one + 0.5 * Kernel(Matern(4.0, 2.5));
  for (const Kernel& kernel : {one, two}) {
    for (const Index d : {1, 16, 130, 784}) {
      for (const Index n_components : {2, 600, 2600}) {
        for (const Index rows : {1, 5, 300}) {
          if (rows == 300 && n_components != 2600) continue;
          const FourierMap<T> map(sample_term_hadamard(kernel, d, n_components, 5));
          ASSERT_NE(map.structured(), nullptr);
          const FourierMap<double> kept(map.structured()->matrix());
          const Matrix<T> X = random_matrix<T>(rows, d, 7) * T(std::sqrt(3.0 / double(d)));
          Matrix<T> fast(rows, map.n_features());
          evaluate(map, X, View<T>(fast), Execution{});
          const Matrix<double>& wide = X.template cast<double>();
          Matrix<double> slow(rows, map.n_features());
          evaluate(kept, wide, View<double>(slow), Execution{});
          const double scale = std::sqrt(double(map.units()));
          EXPECT_LT(scale * max_difference(fast, slow), (std::is_same_v<T, float> ? 1e-5 : 1e-12)) << d;
        }
      }
    }
  }
}

TYPED_TEST(StructuredMapTest, AnyTilesGiveTheSameBits) {
  using T = TypeParam;
  const FourierMap<T> map(sample_term_hadamard(Kernel(Gaussian(3.0)) + Kernel(Gaussian(1.0)), 100, 400, 5));
  const Matrix<T> X = random_matrix<T>(9, 100, 8);
  Matrix<T> all(9, map.n_features());
  evaluate(map, X, View<T>(all), Execution{});
  for (const Index step : {1, 50, 128, 200, 256}) {
    Matrix<T> parts(9, map.n_features());
    std::vector<T> scratch(static_cast<std::size_t>(map.prepared_size(9)));
    const auto in = map.prepare(X.data(), 100, 9, scratch.data());
    for (Index u = 0; u < map.units(); u += step) {
      map.tile(in, u, std::min(step, map.units() - u), parts.data() + u, map.units(), parts.cols());
    }
    EXPECT_EQ(parts, all) << step;
  }
}

// Phases that float cannot hold are made in double.
TEST(StructuredMap, HeavyTailsAreReducedInDouble) {
  const FourierMap<float> map(Matern(0.01, 0.5), 3, 2000, 1, {}, Sampling::hadamard);
  const Matrix<double> W = map.structured()->matrix();
  ASSERT_GT(W.cwiseAbs().maxCoeff(), 1e4);
  const Matrix<float> X = random_matrix<float>(4, 3, 9);
  Matrix<float> phi(4, map.n_features());
  evaluate(map, X, View<float>(phi), Execution{});
  const Matrix<double> phases = X.cast<double>() * W.transpose();
  const Matrix<double> expected = phases.array().cos() / std::sqrt(double(map.units()));
  EXPECT_LT(max_difference(phi.leftCols(map.units()), expected), 1e-6);
}

TEST(HadamardFrequencies, WhatHasNoneIsRefused) {
  EXPECT_THAT(message_of([] { sample_hadamard(Laplacian(1.0), 3, 6, frequencies); }),
              HasSubstr("sampling 'hadamard' needs a kernel of |x - z|; the laplacian kernel is not"));
  const Kernel bounded = CurlFree(Gaussian(1.0), true);
  EXPECT_THAT(message_of([&] { sample_term_hadamard(bounded, 3, 6, 0); }), HasSubstr("bounded"));
  EXPECT_THAT(message_of([&] { sample_term_frequencies(bounded, 3, 6, 0, Sampling::hadamard); }), HasSubstr("bounded"));
  HadamardFrequencies broken = sample_hadamard(Gaussian(1.0), 3, 6, frequencies);
  broken.per_term = 4;
  EXPECT_THROW(FourierMap<double>{broken}, Error);
  EXPECT_EQ(parse_sampling(sampling_name(Sampling::hadamard)), Sampling::hadamard);
}

}  // namespace
}  // namespace carmina::hadamard_test
