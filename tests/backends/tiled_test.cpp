// tests/backends/tiled_test.cpp -- work divided among threads: every piece once, and the same bits for any number.
#include "backends/tiled.hpp"
#include "backends/cpu/triangle_tiling.hpp"
#include "features/moments_builder.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "support/random_matrix.hpp"

namespace carmina::tiled_test {
namespace {

using backend::TriangleTiling;
using testing::max_difference;
using testing::random_matrix;
using testing::random_psd;

Execution with_threads(int threads) {
  Execution execution;
  execution.threads = threads;
  return execution;
}

TEST(TriangleTiling, CoversAllColumnsInWholeSteps) {
  for (const Index total : {1, 31, 32, 33, 95, 300, 544, 545, 1029, 2053, 8197}) {
    for (const int threads : {1, 2, 3, 8, 16, 64}) {
      const auto tiling = TriangleTiling::of(total, 544, 32, threads);
      Index at = 0;
      for (Index i = 0; i < tiling.tiles(); ++i) {
        EXPECT_EQ(tiling.begin(i), at);
        EXPECT_EQ(tiling.begin(i) % 32, 0);
        EXPECT_GT(tiling.size(i), 0);
        EXPECT_LE(tiling.size(i), 544 + 32);
        at += tiling.size(i);
      }
      EXPECT_EQ(at, total) << threads;
    }
  }
}

// Of 2053 columns one or two threads have as few tiles as may be; sixteen end together: 28 tasks and 8 halves.
TEST(TriangleTiling, HasMoreTilesForMoreThreads) {
  EXPECT_EQ(TriangleTiling::of(2053, 544, 32, 2).tiles(), 4);
  const Index many = TriangleTiling::of(2053, 544, 32, 16).tiles();
  EXPECT_GE(many * (many + 1) / 2, 32);
  EXPECT_GT(TriangleTiling::of(512, 544, 32, 16).tiles(), 3);
}

template <Real T>
Matrix<double> sums(Index n, Index m, int threads) {
  const Matrix<T> phi = random_matrix(n, m, 1).cast<T>(), Y = random_matrix(n, 2, 2).cast<T>();
  const Execution execution = with_threads(threads);
  Moments moments(m, Vector<double>::Zero(2));
  MemoryRows<T> rows(phi, Y);
  const DataRows<T> data(rows);
  MomentsBuilder<T> builder(moments, data, execution);
  rows.rewind();
  builder.add(rows.next(n), [&](Index first, Index count, T* out, Index ld, int) {
    for (Index i = 0; i < count; ++i) std::copy_n(phi.row(first + i).data(), m, out + i * ld);
  });
  builder.finish();
  return moments.sums.template triangularView<Eigen::Lower>();
}

TEST(Tiled, SumsOfProductsHaveTheSameBitsOnAnyThreads) {
  // Of the last ones threads have chunks of their own.
  for (const auto& [n, m] : {std::pair<Index, Index>(300, 200), {1000, 333}, {130, 700}, {20'000, 37}, {70'001, 12}}) {
    const Matrix<double> one = sums<float>(n, m, 1), wide = sums<double>(n, m, 1);
    for (const int threads : {2, 3, 7, 16}) {
      EXPECT_EQ(one, sums<float>(n, m, threads)) << n << " " << m << " " << threads;
      EXPECT_EQ(wide, sums<double>(n, m, threads)) << n << " " << m << " " << threads;
    }
    EXPECT_LT(max_difference(one, wide), 2e-4 * static_cast<double>(n));
  }
}

template <Real T>
void factors(Index n, double tolerance) {
  const Matrix<double> A = random_psd(n, n, 3) + 0.1 * Matrix<double>::Identity(n, n);
  const Matrix<double> expected = Eigen::LLT<Matrix<double>>(A).matrixL();
  Matrix<T> one;
  for (const int threads : {1, 2, 3, 16}) {
    Matrix<T> L = A.template cast<T>();
    ASSERT_TRUE(backend::cholesky(n, L.data(), n, with_threads(threads))) << n;
    if (threads == 1) one = L;
    EXPECT_EQ(L, one) << n << " " << threads;  // the upper triangle too, which is left alone
  }
  const Matrix<double> lower = one.template cast<double>().template triangularView<Eigen::Lower>();
  EXPECT_LT(max_difference(lower, expected), tolerance * expected.cwiseAbs().maxCoeff()) << n;
}

TEST(Tiled, CholeskyFactorsHaveTheSameBitsOnAnyThreads) {
  for (const Index n : {1, 2, 127, 128, 129, 256, 257, 500, 1000}) {
    factors<double>(n, 1e-9);
    factors<float>(n, 2e-2);
  }
}

TEST(Tiled, AMatrixWithoutAFactorIsSaidToHaveNone) {
  for (const Index n : {1, 128, 129, 700}) {
    for (const Index at : {Index{0}, n / 2, n - 1}) {
      Matrix<double> A = random_psd(n, n, 3) + 0.1 * Matrix<double>::Identity(n, n);
      A(at, at) = -1;
      for (const int threads : {1, 3, 16}) {
        Matrix<double> L = A;
        EXPECT_FALSE(backend::cholesky(n, L.data(), n, with_threads(threads))) << n << " " << at << " " << threads;
      }
    }
  }
}

TEST(Tiled, ACholeskyFactorCanBeStopped) {
  const Index n = 1500;
  const Matrix<double> A = random_psd(n, n, 3) + 0.1 * Matrix<double>::Identity(n, n);
  for (const int threads : {1, 2, 5}) {
    Execution execution = with_threads(threads);
    int asked = 0;
    execution.should_stop = [&] { return ++asked > 3; };
    Matrix<double> L = A;
    EXPECT_THROW(backend::cholesky(n, L.data(), n, execution), Cancelled) << threads;
    L = A;
    EXPECT_TRUE(backend::cholesky(n, L.data(), n, with_threads(threads)));
  }
}

template <Real T>
void solves_few_columns(Index n, Index m, double tolerance) {
  const Matrix<double> A = random_psd(n, n, 3) + 0.1 * Matrix<double>::Identity(n, n);
  Matrix<T> L = Eigen::LLT<Matrix<double>>(A).matrixL().toDenseMatrix().template cast<T>();
  const Matrix<double> B = random_matrix(n, m, 4);
  const Matrix<double> expected = A.llt().solve(B);
  std::vector<Matrix<T>> found;
  for (const int threads : {1, 2, 5}) {
    Matrix<T> X = B.template cast<T>();
    backend::cholesky_solve(n, m, L.data(), n, X.data(), m, with_threads(threads));
    found.push_back(X);
    EXPECT_EQ(X, found[0]) << n << " " << m << " " << threads;
  }
  EXPECT_LT(max_difference(found[0].template cast<double>(), expected), tolerance * expected.cwiseAbs().maxCoeff())
      << n << " " << m;
}

TEST(Tiled, SystemsWithFewColumnsAreSolvedInBlocks) {
  for (const Index n : {1, 255, 1023, 1024, 1100, 1281}) {
    for (const Index m : {1, 4, 16, 17}) {
      solves_few_columns<double>(n, m, 1e-9);
      solves_few_columns<float>(n, m, 2e-2);
    }
  }
}

TEST(Tiled, ZerosAreZero) {
  for (const Index n : {0, 1, 64, 65, 300}) {
    EXPECT_EQ(backend::zeros<float>(n, 7, with_threads(3)), Matrix<float>::Zero(n, 7));
    EXPECT_EQ(backend::zeros<double>(n, 7, with_threads(3)), Matrix<double>::Zero(n, 7));
  }
}

}  // namespace
}  // namespace carmina::tiled_test
