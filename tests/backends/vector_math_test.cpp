// tests/backends/vector_math_test.cpp -- vector sine, cosine and exponential against the standard library.
#include <gtest/gtest.h>
#include <carmina/backends/vector_math.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace carmina {
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

}  // namespace
}  // namespace carmina
