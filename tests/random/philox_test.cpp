// tests/random/philox_test.cpp -- known answers, independence of streams, and moments as statistics.
#include <gtest/gtest.h>
#include <carmina/random/philox.hpp>

#include <cmath>
#include <functional>
#include <set>
#include <vector>

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

// Numbers of a stream without child stay as they are for ever: seeds are kept beside results. The values come from
// another program of the same formulas.
TEST(Philox, NumbersOfPurposesDoNotChange) {
  EXPECT_EQ(Random(0, Stream::frequencies).bits(0), 0xe169c58d6627e8d5ull);
  EXPECT_EQ(Random(7, Stream::rows).bits(5, 1), 0xa9bd7cecf5c1555bull);
  EXPECT_EQ(Random(0x10000000003, Stream::sketch).bits(0x200000009, 4), 0x94eabc0120272e5full);
  EXPECT_EQ(Random(1, Stream::evidence_rows).bits(11), 0x92273bf1ef4eee4dull);
  EXPECT_DOUBLE_EQ(Random(1, Stream::evidence_rows).uniform(11), 0.5709111657773139);
  EXPECT_DOUBLE_EQ(Random(1, Stream::evidence_rows).normal(11), -0.8458799381705354);
  EXPECT_DOUBLE_EQ(Random(1, Stream::frequencies).gamma(2.5, 3), 1.6882179736567593);
  EXPECT_DOUBLE_EQ(Random(1, Stream::frequencies).gamma(0.5, 4), 2.0620424510773026);
  EXPECT_DOUBLE_EQ(Random(12, Stream::noise).gamma(64, 7), 66.58391570547734);
}

Random at(const std::vector<std::uint32_t>& path) {
  Random random(1, Stream::mixture_draws);
  for (const std::uint32_t k : path) random = random.child(k);
  return random;
}

// Every path of the tree has a first word of its own: the paths are random ones of depth 1 to 4 over few numbers, so
// that many have the same numbers in another order, or the same sum.
TEST(Streams, PathsThroughTheTreeDoNotMeet) {
  const Random random(3, Stream::data);
  std::set<std::vector<std::uint32_t>> paths;
  for (std::uint64_t i = 0; paths.size() < 1000; ++i) {
    std::vector<std::uint32_t> path(1 + random.bits(i, 0) % 4);
    for (std::uint32_t j = 0; j < path.size(); ++j) path[j] = static_cast<std::uint32_t>(random.bits(i, j + 1) % 12);
    paths.insert(path);
  }
  std::set<std::uint64_t> words{Random(1, Stream::mixture_draws).bits(0)};
  for (const auto& path : paths) words.insert(at(path).bits(0));
  EXPECT_EQ(words.size(), 1001u);
  EXPECT_NE(at({2, 5}).bits(0), at({5, 2}).bits(0));
  EXPECT_NE(at({1, 4, 2}).bits(0), at({4, 2, 1}).bits(0));
}

TEST(Streams, ChildrenDependOnSeedAndPurpose) {
  std::set<std::uint64_t> words;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint32_t purpose = 0; purpose < 10; ++purpose) {
      words.insert(Random(seed, purpose).bits(0));
      for (const std::uint32_t k : {0u, 1u, 0xfffeu, 0xffffu, 0x7fffffu, 0xffffffffu}) {
        words.insert(Random(seed, purpose).child(k).bits(0));
      }
    }
  }
  EXPECT_EQ(words.size(), 10u * 10 * 7);
}

// gamma() has a stream of its own, which no child may be: child 2^23 - 1 once was.
TEST(Streams, NoChildIsTheStreamOfGamma) {
  const Random random(1, Stream::frequencies), gamma(1, 0x80000000u);
  for (const std::uint32_t k : {0u, 0x7ffffeu, 0x7fffffu, 0x800000u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_NE(random.child(k).bits(0), gamma.bits(0)) << k;
  }
}

// The sample correlation of n independent pairs of normals has a standard error of 1/sqrt(n).
TEST(Streams, RelativesAreUncorrelated) {
  constexpr int n = 200'000;
  const std::vector<std::vector<std::uint32_t>> relatives = {{},     {0},    {1},    {2},       {0, 0},   {0, 1},
                                                             {1, 0}, {1, 1}, {2, 0}, {1, 0, 0}, {0, 1, 0}};
  std::vector<std::vector<double>> draws;
  for (const auto& path : relatives) {
    const Random random = at(path);
    std::vector<double>& z = draws.emplace_back();
    for (std::uint64_t i = 0; i < n; ++i) z.push_back(random.normal(i));
  }
  for (std::size_t a = 0; a < draws.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < n; ++i) product += draws[a][i] * draws[b][i];
      EXPECT_LT(std::abs(product) / std::sqrt(double(n)), 4) << "streams " << a << " and " << b;
    }
  }
}

// Counts of ones in each of 64 places, over the first words of many streams and of their children, as chi-square: 64
// degrees of freedom, mean 64, standard deviation sqrt(128). The words of one parent's children are the sharpest case.
TEST(Streams, BitsOfFirstWordsAreFair) {
  constexpr std::uint32_t n = 50'000;
  const std::vector<std::function<std::uint64_t(std::uint32_t)>> families = {
      [](std::uint32_t k) { return at({k}).bits(0); },
      [](std::uint32_t k) { return at({k, k}).bits(0); },
      [](std::uint32_t k) { return at({3, k % 200, k / 200}).bits(0); },
      [](std::uint32_t k) { return at({k}).bits(0) ^ at({k + 1}).bits(0); },    // siblings
      [](std::uint32_t k) { return at({k}).bits(0) ^ at({k, 0}).bits(0); },     // parent and child
      [](std::uint32_t k) { return at({0, k}).bits(0) ^ at({1, k}).bits(0); },  // cousins
      [](std::uint32_t k) { return at({k, k + 1}).bits(0) ^ at({k + 1, k}).bits(0); }};
  for (std::size_t family = 0; family < families.size(); ++family) {
    std::vector<double> ones(64);
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::uint64_t word = families[family](k);
      for (std::size_t place = 0; place < 64; ++place) ones[place] += static_cast<double>(word >> place & 1);
    }
    double chi_square = 0;
    for (const double count : ones) chi_square += (count - n / 2.0) * (count - n / 2.0) / (n / 4.0);
    EXPECT_NEAR(chi_square, 64, 4 * std::sqrt(128.0)) << "family " << family;
  }
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
