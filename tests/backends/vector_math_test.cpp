// tests/backends/vector_math_test.cpp -- vector sine, cosine and exponential against the standard library.
#include "backends/vector_math.hpp"
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random_matrix.hpp"

namespace carmina::vector_math_test {
namespace {

template <class T>
class VectorMath : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(VectorMath, Precisions);

// Every length up to past two registers, in place and out of place, small and large phases.
TYPED_TEST(VectorMath, SineAndCosine) {
  using T = TypeParam;
  const double unit = std::numeric_limits<T>::epsilon();
  for (const double range : {1.0, 50.0, 1e4, 1e6}) {
    for (int n = 1; n <= 40; ++n) {
      std::vector<T> x(n), c(n), s(n);
      for (int i = 0; i < n; ++i) x[i] = static_cast<T>(range * std::sin(1.0 + 12.9898 * i + n));
      const std::vector<T> phases = x;
      backend::sincos_scaled(x.data(), T(0.5), c.data(), s.data(), n);
      backend::sincos_scaled(x.data(), T(0.5), x.data(), s.data(), n);
      for (int i = 0; i < n; ++i) {
        EXPECT_NEAR(c[i], 0.5 * std::cos(double(phases[i])), 3 * unit);
        EXPECT_NEAR(s[i], 0.5 * std::sin(double(phases[i])), 3 * unit);
        EXPECT_EQ(x[i], c[i]);
      }
    }
  }
}

TYPED_TEST(VectorMath, Exponential) {
  using T = TypeParam;
  for (int n = 1; n <= 40; ++n) {
    std::vector<T> x(n);
    for (int i = 0; i < n; ++i) x[i] = static_cast<T>(i * i * 0.37);
    const std::vector<T> before = x;
    backend::exp_scaled(x.data(), T(-0.5), n);
    for (int i = 0; i < n; ++i) {
      const double expected = std::exp(-0.5 * double(before[i]));
      EXPECT_NEAR(x[i], expected, 8 * std::numeric_limits<T>::epsilon() * expected + std::numeric_limits<T>::min());
    }
  }
}

// All widths around the registers' and all small p, in strided arrays whose other entries must not change.
TYPED_TEST(VectorMath, ProductsWithFewColumns) {
  using T = TypeParam;
  for (const Index rows : {1, 2, 3, 4, 5, 9}) {
    for (const Index columns : {1, 7, 8, 15, 16, 33, 64, 70, 131}) {
      for (Index p = 1; p <= 9; ++p) {
        const Matrix<T> A = testing::random_matrix<T>(rows, columns + 3, 1),
                        B = testing::random_matrix<T>(p, columns + 2, 2), R = testing::random_matrix<T>(rows, p + 1, 3);
        Matrix<T> product = Matrix<T>::Ones(rows, p + 2), transposed = Matrix<T>::Ones(p, columns + 4);
        backend::add_product_few(A.data(), A.cols(), rows, columns, B.data(), B.cols(), p, product.data(),
                                 product.cols());
        backend::add_transposed_few(A.data(), A.cols(), rows, columns, R.data(), R.cols(), p, transposed.data(),
                                    transposed.cols());
        Matrix<double> expected = Matrix<double>::Ones(rows, p + 2), turned = Matrix<double>::Ones(p, columns + 4);
        const Matrix<double> a = A.leftCols(columns).template cast<double>();
        expected.leftCols(p) += a * B.leftCols(columns).template cast<double>().transpose();
        turned.leftCols(columns) += R.leftCols(p).template cast<double>().transpose() * a;
        const double allowed = 1e2 * std::numeric_limits<T>::epsilon();
        ASSERT_LT(testing::max_difference(product, expected), allowed * (1 + expected.norm()));
        ASSERT_LT(testing::max_difference(transposed, turned), allowed * (1 + turned.norm()));
      }
    }
  }
}

}  // namespace
}  // namespace carmina::vector_math_test
