// tests/random/philox_test.cpp -- known answers, independence of streams, and moments as statistics.
#include <gtest/gtest.h>
#include <carmina/random/philox.hpp>

#include <cmath>
#include <set>

namespace carmina {
namespace {

// Random123's own known answer for philox4x32-10: counter and key all ones gives 408f276d 41c83b0e a20bc7c6 6d5451fd.
TEST(Philox, KnownAnswer) {
  const Random random(~std::uint64_t{0}, ~std::uint32_t{0});
  EXPECT_EQ(random.bits(~std::uint64_t{0}, ~std::uint32_t{0}), 0x41c83b0e408f276dull);
}

TEST(Philox, IsAFunctionOfItsArguments) {
  const Random a(7, Stream::frequencies), b(7, Stream::frequencies);
  EXPECT_EQ(a.normal(123456789012345, 3), b.normal(123456789012345, 3));
  std::set<std::uint64_t> seen;
  for (std::uint32_t stream = 0; stream < 4; ++stream) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      for (std::uint64_t i = 0; i < 8; ++i) {
        for (std::uint32_t j = 0; j < 8; ++j) seen.insert(Random(seed, stream).bits(i, j));
      }
    }
  }
  EXPECT_EQ(seen.size(), 4u * 4 * 8 * 8);
}

// n = 10^6 draws; each statistic within 5 standard errors (fixed seed, so the test cannot flicker).
TEST(Philox, MomentsOfUniformAndNormal) {
  const Random random(42, Stream::data);
  constexpr int n = 1'000'000;
  double mean = 0, square = 0, lag = 0, normal_mean = 0, normal_square = 0, normal_fourth = 0, previous = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(static_cast<std::uint64_t>(i), 0) - 0.5;
    const double z = random.normal(static_cast<std::uint64_t>(i), 1);
    ASSERT_TRUE(u >= -0.5 && u < 0.5);
    ASSERT_TRUE(std::isfinite(z));
    mean += u / n, square += u * u / n, lag += u * previous / n;
    normal_mean += z / n, normal_square += z * z / n, normal_fourth += z * z * z * z / n;
    previous = u;
  }
  const double se = 1 / std::sqrt(double(n));
  EXPECT_NEAR(mean, 0, 5 * se / std::sqrt(12));
  EXPECT_NEAR(square, 1.0 / 12, 5 * se * std::sqrt(1.0 / 180));
  EXPECT_NEAR(lag, 0, 5 * se / 12);
  EXPECT_NEAR(normal_mean, 0, 5 * se);
  EXPECT_NEAR(normal_square, 1, 5 * se * std::sqrt(2));
  EXPECT_NEAR(normal_fourth, 3, 5 * se * std::sqrt(96));
}

}  // namespace
}  // namespace carmina
