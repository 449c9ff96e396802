// tests/laws/sketch_laws.cpp -- what every sketch must satisfy; a new one joins by being in the variant
// Distribution.
#include <gtest/gtest.h>
#include <carmina/sketches/distribution.hpp>
#include "features/map_operations.hpp"
#include "features/sketched_map.hpp"

#include <Eigen/QR>

#include "support/alternatives.hpp"
#include "support/random_matrix.hpp"

namespace carmina::sketches {
namespace {

using carmina::testing::max_difference;
using carmina::testing::random_matrix;

template <class D>
class SketchLaws : public ::testing::Test {};
using AllSketches = carmina::testing::Alternatives<Distribution>::Types;
TYPED_TEST_SUITE(SketchLaws, AllSketches);

const ScalarKernel kernel = carmina::Gaussian(1.1);
constexpr Index width = 3;

template <class D>
Sketch draw(const D& distribution, Index n, std::uint64_t seed, int threads = 2) {
  const Matrix<double> X = random_matrix(n, width, 5);
  return sample(Distribution(distribution), seed, ConstView<double>(X), kernel, {}, Execution{.threads = threads});
}

// With zeros in S even when n is small.
template <class D>
D with_gaps(Index s) {
  if constexpr (std::constructible_from<D, Index, std::optional<double>>) {
    return D(s, 0.3);
  } else if constexpr (std::same_as<D, Accumulation>) {
    return D(s, 3);
  } else {
    return D(s);
  }
}

bool same(const Sketch& a, const Sketch& b) { return a.anchors == b.anchors && a.toarray() == b.toarray(); }

TYPED_TEST(SketchLaws, AnchorsAreTheColumnsThatAreNotZero) {
  for (const Index n : {1, 2, 17, 64, 1000}) {
    for (const Index s : {1, 2, 12}) {
      if (s > n) continue;
      const Sketch sketch = draw(TypeParam(s), n, 3);
      EXPECT_EQ(sketch.n, n);
      EXPECT_EQ(sketch.rows(), s);
      ASSERT_EQ(columns_of(sketch.mixing), sketch.anchor_count());
      const Matrix<double> S = sketch.toarray();
      ASSERT_EQ(S.rows(), s);
      ASSERT_EQ(S.cols(), n);
      std::vector<Index> expected;
      for (Index j = 0; j < n; ++j) {
        if (!S.col(j).isZero(0)) expected.push_back(j);
      }
      EXPECT_EQ(sketch.anchors, expected);
    }
  }
}

TYPED_TEST(SketchLaws, AFunctionOfTheSeedAloneOnAnyNumberOfThreads) {
  const Sketch first = draw(TypeParam(7), 300, 11, 1);
  for (const int threads : {1, 2, 5}) EXPECT_TRUE(same(draw(TypeParam(7), 300, 11, threads), first));
  EXPECT_FALSE(same(draw(TypeParam(7), 300, 12), first));
}

// In the mean over N independent samples every entry of Sᵀ S is within 5 standard errors, estimated from the samples,
// of the identity's. For a right implementation one of the 64 entries is outside with a probability of about 4e-5; a
// scale of S that is wrong by 5 % puts the diagonal outside.
TYPED_TEST(SketchLaws, ProductsAverageToTheIdentity) {
  if constexpr (!std::same_as<TypeParam, PivotedCholesky>) {
    constexpr Index n = 8, s = 4;
    constexpr int N = 20000;
    Matrix<double> sum = Matrix<double>::Zero(n, n), squares = sum;
    for (int seed = 0; seed < N; ++seed) {
      const Matrix<double> S = draw(with_gaps<TypeParam>(s), n, static_cast<std::uint64_t>(seed), 1).toarray();
      const Matrix<double> product = S.transpose() * S;
      sum += product;
      squares += product.cwiseAbs2();
    }
    const Matrix<double> mean = sum / N;
    const Matrix<double> error = ((squares / N - mean.cwiseAbs2()).cwiseMax(0) / N).cwiseSqrt();
    EXPECT_LT(error.maxCoeff(), 0.015);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) EXPECT_NEAR(mean(i, j), i == j ? 1 : 0, 5 * error(i, j) + 1e-12) << i << " " << j;
    }
  }
}

// mathematics.md 5.5. z zᵀ = G H^+ Gᵀ with G = K Sᵀ, H = S K Sᵀ, all from the dense S.
template <Real T>
void expect_products_of_features(const Sketch& sketch, double tolerance) {
  const Matrix<T> X = random_matrix<T>(sketch.n, width, 5);
  const Matrix<double>& wide = X.template cast<double>();
  const Matrix<double> S = sketch.toarray();
  const Matrix<double> K = kernel_matrix<double>(kernel, wide, wide), G = K * S.transpose(), H = S * G;
  const Matrix<double> inverse = H.completeOrthogonalDecomposition().pseudoInverse();
  const Matrix<double> expected = G * inverse * G.transpose();
  const SketchedMap<T> map(kernel, sketch.template anchor_rows<T>(X), sketch.mixing);
  EXPECT_EQ(map.n_features(), sketch.rows());
  Matrix<T> Z(sketch.n, map.n_features());
  evaluate(map, X, View<T>(Z), Execution{});
  const Matrix<double> z = Z.template cast<double>();
  EXPECT_LT(max_difference(z * z.transpose(), expected), tolerance);
  // A linear function of the features is one of the kernel map over the anchors.
  const Matrix<double> theta = random_matrix(map.n_features(), 2, 6);
  const Matrix<T> C = map.anchor_coefficients(theta).template cast<T>();
  Matrix<T> f(sketch.n, 2);
  apply(map.kernel_map(), X, C, View<T>(f), Execution{});
  EXPECT_LT(max_difference(f, z * theta), tolerance * (1 + double(C.cwiseAbs().maxCoeff())));
}

TYPED_TEST(SketchLaws, FeaturesMultiplyToTheSketchedKernel) {
  for (const Index s : {1, 6, 10}) {
    const Sketch sketch = draw(TypeParam(s), 500, 21);
    expect_products_of_features<double>(sketch, 1e-9);
    expect_products_of_features<float>(sketch, 1e-3);
  }
}

TYPED_TEST(SketchLaws, FeaturesAreBitEqualOnAnyNumberOfThreads) {
  const Sketch sketch = draw(TypeParam(9), 700, 23);
  const Matrix<float> X = random_matrix<float>(700, width, 5);
  const SketchedMap<float> map(kernel, sketch.anchor_rows<float>(X), sketch.mixing);
  Matrix<float> first(X.rows(), map.n_features()), again = first;
  evaluate(map, X, View<float>(first), Execution{.threads = 1});
  for (const int threads : {2, 5}) {
    evaluate(map, X, View<float>(again), Execution{.threads = threads});
    EXPECT_EQ(again, first);
  }
}

TYPED_TEST(SketchLaws, NothingDependsOnTheScaleOfTheSketch) {
  const Matrix<double> X = random_matrix(200, width, 5);
  const Sketch sketch = draw(TypeParam(5), 200, 22);
  Sketch tripled = sketch;
  std::visit([](auto& m) { m *= 3; }, tripled.mixing);
  const auto products = [&](const Sketch& chosen) {
    const SketchedMap<double> map(kernel, chosen.anchor_rows<double>(X), chosen.mixing);
    Matrix<double> Z(X.rows(), map.n_features());
    evaluate(map, X, View<double>(Z), Execution{});
    return Matrix<double>(Z * Z.transpose());
  };
  EXPECT_LT(max_difference(products(sketch), products(tripled)), 1e-10);
}

TYPED_TEST(SketchLaws, ByNameAndBack) {
  const Distribution plain = TypeParam(9), made = make_sketch(TypeParam::name, 9, sketch_parameters(plain));
  EXPECT_EQ(made, plain);
  EXPECT_EQ(sketch_name(made), TypeParam::name);
  EXPECT_EQ(n_components(made), 9);
  EXPECT_EQ(needs_data(made), TypeParam::needs_data);
  EXPECT_THROW(make_sketch(TypeParam::name, 9, {{"unheard", {1.0}}}), Error);
}

TYPED_TEST(SketchLaws, RefusesWhatItCannotBe) {
  EXPECT_THROW(TypeParam(0), Error);
  EXPECT_THROW(TypeParam(-3), Error);
  EXPECT_THROW(sample(Distribution(TypeParam(1)), 0, 1), Error);
}

}  // namespace
}  // namespace carmina::sketches
