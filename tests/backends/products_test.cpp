// tests/backends/products_test.cpp -- products, factors and triangular systems of every shape against plain sums.
#include "backends/blas.hpp"
#include "backends/cpu/vector_math_loops.hpp"
#include "backends/tiled.hpp"

#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random_matrix.hpp"

namespace carmina::products_test {
namespace {

using backend::ProductTask;
using backend::Transpose;
using testing::random_matrix;

// The instruction sets that this machine has.
std::vector<const backend::VectorMath*> instruction_sets() {
  std::vector<const backend::VectorMath*> found{backend::portable_vector_math()};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (backend::avx2_vector_math() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back(backend::avx2_vector_math());
  }
  if (backend::avx512_vector_math() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    found.push_back(backend::avx512_vector_math());
  }
#endif
  return found;
}

template <class T>
void multiply(const backend::VectorMath& set, const ProductTask<T>& task) {
  if constexpr (std::is_same_v<T, float>) {
    set.of_float.matrix_product(task);
  } else {
    set.of_double.matrix_product(task);
  }
}

template <class T>
class Products : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Products, Precisions);

// Rows of C lie in a wider matrix, whose other cells stay as they are; so does the upper triangle of `lower`.
template <class T>
void expect_product(const backend::VectorMath& set, bool ta, bool tb, bool lower, Index m, Index n, Index k, T alpha,
                    T beta) {
  SCOPED_TRACE(
      format_text("{}: {}{}{} {} x {} x {}, alpha {}, beta {}", set.name, ta, tb, lower, m, n, k, alpha, beta));
  const Matrix<T> A = random_matrix(ta ? k : m, (ta ? m : k) + 1, 1).cast<T>();
  const Matrix<T> B = lower ? A : Matrix<T>(random_matrix(tb ? n : k, (tb ? k : n) + 2, 2).template cast<T>());
  Matrix<T> C = random_matrix(m, n + 3, 3).cast<T>();
  const Matrix<T> before = C;
  if (beta == 0) C.leftCols(n).setConstant(std::numeric_limits<T>::quiet_NaN());
  if (beta == 0 && lower) {
    for (Index i = 0; i < m; ++i) C.row(i).tail(n + 2 - i) = before.row(i).tail(n + 2 - i);
  }
  multiply<T>(set, {ta, tb, m, n, k, alpha, A.data(), A.cols(), B.data(), B.cols(), beta, C.data(), C.cols(), lower});
  const double unit = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n + 3; ++j) {
      if (j >= n || (lower && j > i)) {
        ASSERT_EQ(C(i, j), before(i, j)) << i << ", " << j;
        continue;
      }
      double sum = 0, size = 0;
      for (Index l = 0; l < k; ++l) {
        const double x = ta ? A(l, i) : A(i, l), y = tb ? B(j, l) : B(l, j);
        sum += x * y;
        size += std::abs(x * y);
      }
      const double old = beta == 0 ? 0 : static_cast<double>(beta * before(i, j));
      const double expected = static_cast<double>(alpha) * sum + old;
      const double rounding = unit * ((1 + std::sqrt(static_cast<double>(k))) * size + std::abs(old));
      ASSERT_NEAR(C(i, j), expected, rounding) << i << ", " << j;
    }
  }
}

TYPED_TEST(Products, EqualPlainSums) {
  using T = TypeParam;
  const Index sizes[] = {1, 2, 5, 6, 7, 11, 12, 13, 16, 31, 32, 33, 50};
  for (const auto* set : instruction_sets()) {
    int number = 0;
    for (const Index m : sizes) {
      for (const Index n : sizes) {
        ++number;  // kinds of tasks take turns
        const Index k = sizes[static_cast<std::size_t>(number * 7 % 13)] - number % 5 / 4;
        const T beta = T(number % 3) / 2;
        expect_product<T>(*set, number % 2, number / 2 % 2, false, m, n, k, T(number % 4 - 1.5), beta);
      }
      expect_product<T>(*set, true, false, true, m, m, 9, T(1), T(m % 2));
      expect_product<T>(*set, false, true, true, m, m, 9, T(-1), T(1));
    }
    // Beyond a panel's depth, the rows and the columns that are taken at once.
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        expect_product<T>(*set, ta, tb, false, 277, 35, 771, T(1), T(0.5));
        expect_product<T>(*set, ta, tb, false, 14, 1061, 20, T(-1), T(0));
      }
    }
    expect_product<T>(*set, true, false, true, 270, 270, 800, T(1), T(0));
    expect_product<T>(*set, false, true, true, 1050, 1050, 3, T(-1), T(1));
    expect_product<T>(*set, false, false, false, 4, 40, 0, T(1), T(0.5));
  }
}

// A product does not depend on what else is in the matrices: a row of A alone gives the same row of C.
TYPED_TEST(Products, RowsDoNotDependOnTheirNeighbours) {
  using T = TypeParam;
  const Index m = 40, n = 70, k = 900;
  const Matrix<T> A = random_matrix(m, k, 1).cast<T>(), B = random_matrix(k, n, 2).cast<T>();
  Matrix<T> C(m, n), row(1, n);
  const auto product = [&](Index rows, const T* a, T* c) {
    backend::gemm<T>(Transpose::no, Transpose::no, rows, n, k, T(1), a, k, B.data(), n, T(0), c, n);
  };
  product(m, A.data(), C.data());
  for (const Index i : {Index{0}, Index{13}, Index{39}}) {
    product(1, A.row(i).data(), row.data());
    EXPECT_EQ(row, C.row(i));
  }
}

// Few columns go another way; threads do not matter.
TEST(ProductsInTiles, EqualThoseOfEigen) {
  Execution two;
  two.threads = 2;
  for (const Index p : {1, 5, 16, 17, 40}) {
    for (const Index rows : {3, 300, 700}) {
      const Matrix<double> A = random_matrix(rows, 290, 1), B = random_matrix(290, p, 2), D = random_matrix(rows, p, 3);
      const Matrix<double> AB = backend::product(Transpose::no, A, B, {});
      const Matrix<double> AtD = backend::product(Transpose::yes, A, D, {});
      EXPECT_LT((AB - A * B).norm(), 1e-13 * AB.norm());
      EXPECT_LT((AtD - A.transpose() * D).norm(), 1e-13 * AtD.norm());
      EXPECT_EQ(AB, backend::product(Transpose::no, A, B, two));
      EXPECT_EQ(AtD, backend::product(Transpose::yes, A, D, two));
    }
  }
}

TYPED_TEST(Products, FactorsAndTriangularSystems) {
  using T = TypeParam;
  const double unit = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const Index n : {1, 47, 48, 49, 95, 130, 301}) {
    const Index ld = n + 3;
    const Matrix<double> G = random_matrix(n, n, 5);
    Matrix<double> H = G * G.transpose() + static_cast<double>(n) * Matrix<double>::Identity(n, n);
    Matrix<T> L = Matrix<T>::Constant(n, ld, T(7));
    for (Index i = 0; i < n; ++i) L.row(i).head(i + 1) = H.row(i).head(i + 1).template cast<T>();
    ASSERT_TRUE(backend::cholesky(n, L.data(), ld));
    Matrix<double> lower = Matrix<double>::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      lower.row(i).head(i + 1) = L.row(i).head(i + 1).template cast<double>();
      for (Index j = i + 1; j < ld; ++j) ASSERT_EQ(L(i, j), T(7));
    }
    const double size = H.norm();
    EXPECT_LT((lower * lower.transpose() - H).norm(), 20 * unit * size) << n;
    for (const Index m : {1, 5, 64}) {
      const Matrix<T> B = random_matrix(n, m, 6).cast<T>();
      const double allowed = 60 * unit * B.norm();
      Matrix<T> X = B;
      backend::lower_solve(n, m, L.data(), ld, X.data(), m);
      EXPECT_LT((lower * X.template cast<double>() - B.template cast<double>()).norm(), allowed) << n << " " << m;
      X = B;
      backend::lower_transposed_solve(n, m, L.data(), ld, X.data(), m);
      EXPECT_LT((lower.transpose() * X.template cast<double>() - B.template cast<double>()).norm(), allowed);
      X = B;
      backend::cholesky_solve(n, m, L.data(), ld, X.data(), m);
      EXPECT_LT((H * X.template cast<double>() - B.template cast<double>()).norm(), 10 * allowed);
      Matrix<T> R = B.transpose();
      backend::right_solve_transposed(m, n, L.data(), ld, R.data(), n);
      EXPECT_LT((R.template cast<double>() * lower.transpose() - B.transpose().template cast<double>()).norm(),
                allowed);
    }
    H(n - 1, n - 1) = -1;
    for (Index i = 0; i < n; ++i) L.row(i).head(i + 1) = H.row(i).head(i + 1).template cast<T>();
    EXPECT_FALSE(backend::cholesky(n, L.data(), ld)) << "not positive definite";
  }
}

}  // namespace
}  // namespace carmina::products_test
