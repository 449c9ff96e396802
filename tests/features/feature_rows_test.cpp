// tests/features/feature_rows_test.cpp -- the door to the rows against dense products, and its contract: no bit depends
// on threads, blocks, storage or parts.
#include "features/feature_rows.hpp"
#include "features/sketched_map.hpp"

#include <gtest/gtest.h>

#include "support/random_matrix.hpp"
#include "support/row_sources.hpp"

namespace carmina {
namespace {

using testing::max_difference;
using testing::Parts;
using testing::random_matrix;

// Maps of the door, with d inputs.
template <Real T>
std::vector<std::variant<FourierMap<T>, SketchedMap<T>>> maps(Index d) {
  SparseMixing mixing(7, 7);
  mixing.setIdentity();
  return {FourierMap<T>(Gaussian(1.3), d, 40, 1), FourierMap<T>(Gaussian(1.3), d, 128, 1, {}, Sampling::hadamard),
          FourierMap<T>(Gaussian(1.3), d, 30, 1, {}, Sampling::phases),
          SketchedMap<T>(Gaussian(1.3), random_matrix<T>(7, d, 9), mixing)};
}

// Everything that the door gives, for one way to read the rows.
struct Answers {
  Matrix<double> moments, adjoint, normal, gram, sparse_gram, forward, targets, cross;
  Vector<double> weights, squares, rotated;
};

template <Real T, class M>
Answers ask(const M& map, const std::vector<RowSource<T>*>& parts, FeatureStorage storage, Index at_once, int threads) {
  DataRows<T> rows(parts);
  rows.read_at_once(at_once);
  Execution execution;
  execution.threads = threads;
  const auto door = rows_of(map, rows, storage, execution);
  const Index n = door->rows(), m = door->features(), p = door->outputs();
  Answers out;
  Moments moments(m, Vector<double>::Constant(p, 0.2));
  door->moments(moments);
  out.moments = moments.sums.template triangularView<Eigen::Lower>();
  door->adjoint(random_matrix(n, 3, 11), out.adjoint);
  door->normal(random_matrix(m, 2, 12), out.normal);
  door->gram(random_matrix(n, 1, 13).cwiseAbs().col(0), out.gram);
  Vector<double> u = random_matrix(n, 1, 14).col(0);
  for (Index i = 0; i < n; ++i) u[i] = i % 9 == 0 ? std::abs(u[i]) : 0;
  door->gram(u, out.sparse_gram);
  door->forward(random_matrix(m, 2, 15), out.forward);
  out.targets = door->targets();
  out.weights = door->weights();
  out.cross = door->sums(Vector<double>::Constant(p, 0.2)).cross;
  out.squares = door->squares(random_matrix(m, 2 * p, 16), Vector<double>::Constant(2 * p, 0.1));
  out.rotated = door->sum_rotated(Vector<double>::Constant(m, 0.01), random_matrix(m, 4, 17), 2,
                                  [](const RotatedRows& some, Vector<double>& sums) {
                                    sums[0] += some.weights.dot(some.Z.rowwise().squaredNorm());
                                    sums[1] += some.weights.dot(some.targets.rowwise().sum());
                                  });
  return out;
}

void expect_equal(const Answers& a, const Answers& b) {
  EXPECT_EQ(a.moments, b.moments);
  EXPECT_EQ(a.adjoint, b.adjoint);
  EXPECT_EQ(a.normal, b.normal);
  EXPECT_EQ(a.gram, b.gram);
  EXPECT_EQ(a.sparse_gram, b.sparse_gram);
  EXPECT_EQ(a.forward, b.forward);
  EXPECT_EQ(a.targets, b.targets);
  EXPECT_EQ(a.cross, b.cross);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.squares, b.squares);
  EXPECT_EQ(a.rotated, b.rotated);
}

template <class T>
class FeatureRowsOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FeatureRowsOf, Precisions);

TYPED_TEST(FeatureRowsOf, AgreeWithDenseProducts) {
  using T = TypeParam;
  const double tol = std::is_same_v<T, float> ? 2e-4 : 1e-11;
  for (const Index n : {1, 130, 700}) {
    const Index d = 3, p = 2;
    const Matrix<T> X = random_matrix<T>(n, d, 1), Y = random_matrix<T>(n, p, 2);
    const Vector<T> w = random_matrix<T>(n, 1, 3).cwiseAbs();
    for (const auto& any : maps<T>(d)) {
      std::visit(
          [&](const auto& map) {
            const Index m = map.n_features();
            Matrix<T> narrow(n, m);
            evaluate(map, X, View<T>(narrow), Execution{});
            const Matrix<double> phi = narrow.template cast<double>(), targets = Y.template cast<double>();
            const Vector<double> weights = w.template cast<double>();
            MemoryRows<T> memory(X, Y, w.data());
            const Answers got = ask<T>(map, {&memory}, FeatureStorage::none, 256, 2);
            const auto near = [&](const Matrix<double>& a, const Matrix<double>& b) {
              EXPECT_LT(max_difference(a, b), tol * (1 + b.cwiseAbs().maxCoeff()));
            };
            Matrix<double> z(n, m + p + 1), one(n, m + 1);
            z << phi, targets.array() - 0.2, Vector<double>::Ones(n);
            one << phi, Vector<double>::Ones(n);
            near(got.moments,
                 Matrix<double>((z.transpose() * weights.asDiagonal() * z).triangularView<Eigen::Lower>()));
            near(got.adjoint, phi.transpose() * random_matrix(n, 3, 11));
            near(got.normal, phi.transpose() * weights.asDiagonal() * phi * random_matrix(m, 2, 12));
            const Vector<double> u = random_matrix(n, 1, 13).cwiseAbs().col(0);
            near(Matrix<double>(got.gram.template triangularView<Eigen::Lower>()),
                 Matrix<double>((one.transpose() * u.asDiagonal() * one).template triangularView<Eigen::Lower>()));
            near(got.forward, phi * random_matrix(m, 2, 15));
            EXPECT_EQ(got.targets, targets);
            EXPECT_EQ(got.weights, weights);
            near(got.cross, phi.transpose() * weights.asDiagonal() * (targets.array() - 0.2).matrix());
            const Matrix<double> e = (phi * random_matrix(m, 2 * p, 16)).array() + 0.1;
            for (Index a = 0; a < 2; ++a) {
              const double expected = weights.dot((e.middleCols(a * p, p) - targets).rowwise().squaredNorm());
              EXPECT_NEAR(got.squares[a], expected, tol * (1 + expected));
            }
            const Matrix<double> Z = (phi.array() - 0.01).matrix() * random_matrix(m, 4, 17);
            const double rotated = weights.dot(Z.rowwise().squaredNorm());
            EXPECT_NEAR(got.rotated[0], rotated, tol * (1 + rotated));
          },
          any);
    }
  }
}

TYPED_TEST(FeatureRowsOf, NoBitDependsOnThreadsBlocksStorageOrParts) {
  using T = TypeParam;
  const Index n = 5000, d = 3, p = 2;
  const Matrix<T> X = random_matrix<T>(n, d, 1), Y = random_matrix<T>(n, p, 2);
  const Vector<T> w = random_matrix<T>(n, 1, 3).cwiseAbs();
  for (const T* weights : {static_cast<const T*>(nullptr), w.data()}) {
    for (const auto& any : maps<T>(d)) {
      std::visit(
          [&](const auto& map) {
            MemoryRows<T> memory(X, Y, weights);
            const Answers whole = ask<T>(map, {&memory}, FeatureStorage::none, n, 2);
            for (const int threads : {1, 3})
              expect_equal(whole, ask<T>(map, {&memory}, FeatureStorage::none, n, threads));
            for (const Index block : {1, 900, 2500}) {
              expect_equal(whole, ask<T>(map, {&memory}, FeatureStorage::none, block, 2));
            }
            expect_equal(whole, ask<T>(map, {&memory}, FeatureStorage::memory, n, 2));
            for (const Index k : {2, 3, 7}) {
              const Parts<T> parts(X, Y, weights, k);
              expect_equal(whole, ask<T>(map, parts.sources, FeatureStorage::none, 900, 2));
            }
          },
          any);
    }
  }
}

TEST(RowGrid, FollowsFromTheProblemAndHoldsWholeStretches) {
  for (const Index n : {0, 1, 127, 128, 129, 1000, 10'000, 200'000, 1'000'000, 100'000'000}) {
    for (const Index columns : {1, 20, 900, 1'000'000}) {
      const RowGrid grid = RowGrid::of(n, columns);
      EXPECT_EQ(grid.stretch % 128, 0);
      EXPECT_EQ(grid.segment % grid.stretch, 0);
      EXPECT_LE(n, 65 * grid.segment + grid.stretch * 64);
      const Index segments = (n + grid.segment - 1) / grid.segment;
      EXPECT_TRUE(n < 7 * 128 || segments >= 5) << n << " " << columns;
    }
  }
}

}  // namespace
}  // namespace carmina
