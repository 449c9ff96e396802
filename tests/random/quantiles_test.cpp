// tests/random/quantiles_test.cpp -- inverses of distribution functions, gamma draws, and the evenness of Sobol points.
#include "random/quantiles.hpp"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {
namespace {

TEST(Quantiles, KnownValues) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-9);
  EXPECT_NEAR(gamma_quantile(1, 0.5), std::log(2.0), 1e-14);
  EXPECT_NEAR(gamma_quantile(0.5, 0.95), 3.841458820694124 / 2, 1e-12);  // chi^2 with one degree of freedom, halved
}

// Kolmogorov's distance of n draws from Gamma(shape) to its distribution stays below 1.95 / sqrt(n), its 99.9 % point.
TEST(Random, GammaDrawsHaveTheirDistribution) {
  constexpr std::size_t n = 20'000;
  for (const double shape : {0.3, 0.5, 1.0, 2.5, 40.0}) {
    const Random random(3, 9u);
    std::vector<double> draws(n);
    for (std::size_t i = 0; i < n; ++i) draws[i] = random.gamma(shape, i);
    std::sort(draws.begin(), draws.end());
    double distance = 0;
    for (int k = 1; k < 200; ++k) {
      const double u = k / 200.0;
      const auto below = std::lower_bound(draws.begin(), draws.end(), gamma_quantile(shape, u)) - draws.begin();
      distance = std::max(distance, std::abs(double(below) / double(n) - u));
    }
    EXPECT_LT(distance, 1.95 / std::sqrt(double(n))) << shape;
    EXPECT_GT(distance, 1e-5);  // draws, not a grid
  }
}

// 2^10 points put exactly 2^5 in each of 2^5 slices of every coordinate; independent points do not.
TEST(Sobol, FillsEverySliceEvenly) {
  const Matrix<double> points = sobol_points(1024, 6, Random(5, 0u)), others = sobol_points(1024, 6, Random(6, 0u));
  EXPECT_NE(points, others);
  for (Index j = 0; j < 6; ++j) {
    std::vector<int> count(32);
    for (Index i = 0; i < 1024; ++i) {
      ASSERT_TRUE(points(i, j) > 0 && points(i, j) < 1);
      ++count[static_cast<std::size_t>(points(i, j) * 32)];
    }
    // Boost's sequence begins at its second point: one slice may lack one and another have one more.
    EXPECT_GE(*std::min_element(count.begin(), count.end()), 31);
    EXPECT_LE(*std::max_element(count.begin(), count.end()), 33);
  }
}

}  // namespace
}  // namespace carmina
