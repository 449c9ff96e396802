// tests/laws/map_laws.cpp -- what every scalar feature map must satisfy; a new map joins by being in the
// variant AnyScalarMap.
#include <gtest/gtest.h>
#include <carmina/kernels/kernel.hpp>
#include <carmina/sketches/distribution.hpp>
#include "features/map_operations.hpp"
#include "features/scalar_maps.hpp"

#include "support/alternatives.hpp"
#include "support/door.hpp"
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using testing::adjoint;
using testing::max_difference;
using testing::normal_operator;
using testing::random_matrix;
using testing::tolerance;

// Fourier maps of structured frequencies and with phases are no types of their own: these stand for them in the list of
// all.
template <class T>
struct Structured {
  using Scalar = T;
};
template <class T>
struct Phased {
  using Scalar = T;
};
template <class M>
struct Made {
  using Map = M;
};
template <class T>
struct Made<Structured<T>> {
  using Map = FourierMap<T>;
};

template <class T>
struct Made<Phased<T>> {
  using Map = FourierMap<T>;
};

// Makes a map of about `size` units on d inputs, with or without an input transform.
template <class M>
typename Made<M>::Map make_map(Index size, Index d, InputTransform transform);
template <>
FourierMap<float> make_map<FourierMap<float>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), d, 2 * size, 3, std::move(t)};
}
template <>
FourierMap<double> make_map<FourierMap<double>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), d, 2 * size, 3, std::move(t)};
}
template <>
FourierMap<float> make_map<Structured<float>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), d, 2 * size, 3, std::move(t), Sampling::hadamard};
}
template <>
FourierMap<float> make_map<Phased<float>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), d, 2 * size, 3, std::move(t), Sampling::phases};
}
template <>
FourierMap<double> make_map<Phased<double>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), d, 2 * size, 3, std::move(t), Sampling::phases};
}
template <>
KernelMap<float> make_map<KernelMap<float>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), random_matrix<float>(size, d, 11), std::move(t)};
}
template <>
FourierMap<double> make_map<Structured<double>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), d, 2 * size, 3, std::move(t), Sampling::hadamard};
}
template <>
KernelMap<double> make_map<KernelMap<double>>(Index size, Index d, InputTransform t) {
  return {Gaussian(1.7), random_matrix<double>(size, d, 11), std::move(t)};
}

// A sparse mixing with more anchors than components, and more than one tile of these for the larger sizes.
template <class T>
SketchedMap<T> sketched(Index size, Index d, InputTransform t) {
  const auto sketch = sketches::SparseRademacher(std::min<Index>(size, 280)).sample(size + 1, 3);
  return {Gaussian(1.7), random_matrix<T>(sketch.anchor_count(), d, 11), sketch.mixing, std::move(t)};
}
template <>
SketchedMap<float> make_map<SketchedMap<float>>(Index size, Index d, InputTransform t) {
  return sketched<float>(size, d, std::move(t));
}
template <>
SketchedMap<double> make_map<SketchedMap<double>>(Index size, Index d, InputTransform t) {
  return sketched<double>(size, d, std::move(t));
}

template <class M>
class MapLaws : public ::testing::Test {};
template <class T>
using MapsOf = decltype(testing::Alternatives<AnyScalarMap<T>>() + testing::TypeList<Structured<T>, Phased<T>>());
using AllMaps = decltype(MapsOf<float>() + MapsOf<double>())::Types;
TYPED_TEST_SUITE(MapLaws, AllMaps);

struct Shape {
  Index n, d, size, p;
};
// One row, one unit, one output; tiles that do not divide; several stretches of rows (2048) and of units.
const Shape shapes[] = {{1, 1, 1, 1},     {5, 3, 2, 1},     {257, 2, 33, 3},
                        {700, 5, 300, 2}, {4500, 4, 40, 2}, {300, 1, 1030, 1}};

InputTransform some_transform(Index d) {
  return {Vector<double>::LinSpaced(d, 0.1, 0.5), Vector<double>::LinSpaced(d, 0.7, 1.4), {}};
}

template <class M>
Matrix<typename M::Scalar> features(const M& map, const Matrix<typename M::Scalar>& X, int threads = 2) {
  Matrix<typename M::Scalar> phi(X.rows(), map.n_features());
  evaluate(map, X, View<typename M::Scalar>(phi), Execution{.threads = threads});
  return phi;
}

// The slow twin: one row, one unit at a time.
template <class T>
double brute_force(const FourierMap<T>& map, const Vector<double>& x, Index column) {
  const auto angle = [&](Index j) { return x.dot(map.frequencies().row(j).transpose().template cast<double>()); };
  const Index D = map.units(), j = column % D;
  if (map.phases().size() > 0) return std::cos(angle(column) + double(map.phases()[column])) / std::sqrt(double(D));
  return (column < D ? std::cos(angle(j)) : std::sin(angle(j))) / std::sqrt(double(D));
}
template <class T>
double brute_force(const KernelMap<T>& map, const Vector<double>& x, Index column) {
  Vector<double> z = map.anchors().row(column).transpose().template cast<double>();
  if (map.transform().shift.size() > 0) {
    z = (z - map.transform().shift).cwiseProduct(map.transform().factor);
  }
  return std::exp(-(x - z).squaredNorm() / (2 * 1.7 * 1.7));
}

// The column's weight for every anchor, one after the other.
template <class T>
double brute_force(const SketchedMap<T>& map, const Vector<double>& x, Index column) {
  const Matrix<double> C = map.anchor_coefficients(Vector<double>::Unit(map.n_features(), column));
  double sum = 0;
  for (Index a = 0; a < C.rows(); ++a) sum += C(a, 0) * brute_force(map.kernel_map(), x, a);
  return sum;
}

// How much a map enlarges the rounding of what it is computed from.
template <class M>
double amplification(const M&) {
  return 1;
}
template <class T>
double amplification(const SketchedMap<T>& map) {
  const Matrix<double> C = map.anchor_coefficients(Matrix<double>::Identity(map.n_features(), map.n_features()));
  return std::max(1.0, C.colwise().norm().maxCoeff());
}

TYPED_TEST(MapLaws, FeaturesEqualTheirDefinition) {
  using T = typename TypeParam::Scalar;
  for (const auto& [n, d, size, p] : shapes) {
    for (const bool transformed : {false, true}) {
      const auto map = make_map<TypeParam>(size, d, transformed ? some_transform(d) : InputTransform{});
      const Matrix<T> X = random_matrix<T>(n, d, 21);
      const Matrix<T> phi = features(map, X);
      const double rounding = (std::is_same_v<T, float> ? 2e-6 : 1e-13) * amplification(map);
      const Random pick(1, 5u);
      for (std::uint64_t k = 0; k < 200; ++k) {
        const auto i = static_cast<Index>(pick.uniform(k, 0) * double(n));
        const auto j = static_cast<Index>(pick.uniform(k, 1) * double(map.n_features()));
        Vector<double> x = X.row(i).transpose().template cast<double>();
        if (transformed) x = (x - map.transform().shift).cwiseProduct(map.transform().factor);
        EXPECT_NEAR(phi(i, j), brute_force(map, x, j), rounding);
      }
    }
  }
}

TYPED_TEST(MapLaws, ApplyAdjointAndNormalEqualTheDenseProducts) {
  using T = typename TypeParam::Scalar;
  for (const auto& [n, d, size, p] : shapes) {
    const auto map = make_map<TypeParam>(size, d, some_transform(d));
    const Matrix<T> X = random_matrix<T>(n, d, 22), theta = random_matrix<T>(map.n_features(), p, 23),
                    R = random_matrix<T>(n, p, 24);
    const Vector<T> w = random_matrix<T>(n, 1, 25).cwiseAbs();
    const Matrix<double> phi = features(map, X).template cast<double>();
    const double scale = tolerance<T> * (1 + phi.norm());

    Matrix<T> out(n, p);
    apply(map, X, theta, View<T>(out), Execution{});
    EXPECT_LT(max_difference(out, phi * theta.template cast<double>()), scale);

    Matrix<double> sum = Matrix<double>::Ones(map.n_features(), p);
    adjoint(map, X, R, sum, Execution{});
    EXPECT_LT(max_difference(sum.array() - 1, (phi.transpose() * R.template cast<double>()).array()), scale);

    Matrix<double> normal = Matrix<double>::Zero(map.n_features(), p);
    normal_operator(map, X, w.data(), theta, normal, Execution{});
    const Matrix<double> expected =
        phi.transpose() * (w.template cast<double>().asDiagonal() * (phi * theta.template cast<double>()));
    EXPECT_LT(max_difference(normal, expected), tolerance<T> * (1 + expected.cwiseAbs().maxCoeff()));
  }
}

// <P theta, R> = <theta, P* R>, mathematics.md 5.1.
TYPED_TEST(MapLaws, AdjointIdentity) {
  using T = typename TypeParam::Scalar;
  for (const auto& [n, d, size, p] : shapes) {
    const auto map = make_map<TypeParam>(size, d, {});
    const Matrix<T> X = random_matrix<T>(n, d, 26), theta = random_matrix<T>(map.n_features(), p, 27),
                    R = random_matrix<T>(n, p, 28);
    Matrix<T> out(n, p);
    apply(map, X, theta, View<T>(out), Execution{});
    Matrix<double> back = Matrix<double>::Zero(map.n_features(), p);
    adjoint(map, X, R, back, Execution{});
    const double left = (out.template cast<double>().array() * R.template cast<double>().array()).sum();
    const double right = (theta.template cast<double>().array() * back.array()).sum();
    EXPECT_NEAR(left, right,
                (std::is_same_v<T, float> ? 1e-5 : 1e-12) * theta.norm() * R.norm() * (1 + features(map, X).norm()));
  }
}

TYPED_TEST(MapLaws, ResultsAreBitEqualOnAnyNumberOfThreads) {
  using T = typename TypeParam::Scalar;
  for (const auto& [n, d, size, p] : shapes) {
    const auto map = make_map<TypeParam>(size, d, some_transform(d));
    const Matrix<T> X = random_matrix<T>(n, d, 29), theta = random_matrix<T>(map.n_features(), p, 30);
    Matrix<T> first_apply, first_features;
    Matrix<double> first_adjoint, first_normal;
    for (const int threads : {1, 2, 5}) {
      const Execution execution{.threads = threads};
      const Matrix<T> phi = features(map, X, threads);
      Matrix<T> out(n, p);
      apply(map, X, theta, View<T>(out), execution);
      Matrix<double> sum = Matrix<double>::Zero(map.n_features(), p), normal = sum;
      adjoint(map, X, out, sum, execution);
      normal_operator(map, X, static_cast<const T*>(nullptr), theta, normal, execution);
      if (threads == 1) first_features = phi, first_apply = out, first_adjoint = sum, first_normal = normal;
      EXPECT_EQ(phi, first_features);
      EXPECT_EQ(out, first_apply);
      EXPECT_EQ(sum, first_adjoint);
      EXPECT_EQ(normal, first_normal);
    }
  }
}

TYPED_TEST(MapLaws, TakesBlocksOfALargerMatrixWithoutCopies) {
  using T = typename TypeParam::Scalar;
  const auto map = make_map<TypeParam>(20, 3, {});
  const Matrix<T> wide = random_matrix<T>(50, 8, 31);
  const Matrix<T> X = wide.block(10, 2, 30, 3);
  Matrix<T> phi(30, map.n_features());
  evaluate(map, ConstView<T>(wide.block(10, 2, 30, 3)), View<T>(phi), Execution{});
  EXPECT_EQ(phi, features(map, X));
}

TYPED_TEST(MapLaws, RefusesInputsOfAnotherWidth) {
  using T = typename TypeParam::Scalar;
  const auto map = make_map<TypeParam>(4, 3, {});
  const Matrix<T> X = random_matrix<T>(5, 2, 32);
  Matrix<T> phi(5, map.n_features());
  EXPECT_THROW(evaluate(map, X, View<T>(phi), Execution{}), Error);
}

TEST(FourierMap, RefusesOddOrNoComponentsAndNestsSmallerMaps) {
  for (const Index bad : {-2, 0, 1, 7}) EXPECT_THROW(FourierMap<double>(Gaussian(1.0), 2, bad, 0), Error) << bad;
  const FourierMap<double> small(Gaussian(1.0), 3, 10, 5), large(Gaussian(1.0), 3, 40, 5),
      other(Gaussian(1.0), 3, 10, 6);
  EXPECT_EQ(small.frequencies(), Matrix<double>(large.frequencies().topRows(5)));
  EXPECT_NE(small.frequencies(), other.frequencies());
}

TEST(InputTransform, FillsThenScales) {
  InputTransform t{Vector<double>::Constant(2, 1.0), Vector<double>::Constant(2, 0.5),
                   Vector<double>::Constant(2, 3.0)};
  const double x[] = {5.0, std::nan("")};
  double out[2];
  t.apply(x, 2, 1, 2, out);
  EXPECT_EQ(out[0], 2.0);
  EXPECT_EQ(out[1], 1.0);
}

}  // namespace
}  // namespace carmina
