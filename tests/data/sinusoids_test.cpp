// tests/data/sinusoids_test.cpp -- sums of sinusoids against the formula and the moments of their distributions.
#include <carmina/core/error.hpp>
#include <carmina/data/generators.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace carmina::testing {

TEST(Sinusoids, CleanTargetsAreTheSum) {
  SinusoidOptions options;
  options.seed = 3;
  options.step = 0.25;
  options.components = 4;
  for (const char* kind : {"almost", "half", "rarely"}) {
    const Sinusoids data = sinusoids(kind, 30, options);
    for (Index i = 0; i < 30; ++i) {
      const double t = 0.25 * static_cast<double>(i);
      EXPECT_DOUBLE_EQ(data.X(i, 0), t);
      double sum = 0;
      for (Index q = 0; q < 4; ++q) {
        sum += data.weights(q) * std::sin(2 * std::numbers::pi * data.frequencies(q) * t);
      }
      EXPECT_NEAR(data.clean(i, 0), sum, 1e-14);
    }
    EXPECT_NEAR(data.weights.sum(), 1, 1e-14);
    EXPECT_GE(data.weights.minCoeff(), 0);
    EXPECT_EQ(sinusoids(kind, 7, options).Y, data.Y.topRows(7));
  }
}

// Coefficients of variation over 10 weights: 0.10, 0.98 and 1.65 are their means; 200 seeds leave less than 5 % of
// error (the deviation of one is 0.25 of its mean, and 1 / sqrt(200) = 0.07 of that).
TEST(Sinusoids, WeightsAreAsUnequalAsTheirKind) {
  const auto mean_variation = [](const char* kind) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      SinusoidOptions options;
      options.seed = seed;
      const Vector<double> w = sinusoids(kind, 1, options).weights;
      sum += std::sqrt((w.array() - w.mean()).square().sum() / 9) / w.mean() / 200;
    }
    return sum;
  };
  EXPECT_NEAR(mean_variation("almost"), 0.10, 0.01);
  EXPECT_NEAR(mean_variation("half"), 1.03, 0.05);
  EXPECT_GT(mean_variation("rarely"), 1.5);
}

// The variance of n = 20000 normals deviates by sqrt(2 / n) = 1 %.
TEST(Sinusoids, NoiseHasTheVarianceOfItsParts) {
  SinusoidOptions options;
  options.seed = 5;
  const Sinusoids own = sinusoids("half", 20'000, options);
  EXPECT_NEAR((own.Y - own.clean).array().square().mean() / own.noise.squaredNorm(), 1, 0.05);
  EXPECT_LT(own.noise.maxCoeff(), 0.1);
  options.shared_noise = true;
  const Sinusoids shared = sinusoids("half", 20'000, options);
  EXPECT_EQ(shared.clean, own.clean);
  EXPECT_NEAR((shared.Y - shared.clean).array().square().mean() / std::pow(shared.noise.sum(), 2), 1, 0.05);
}

TEST(Sinusoids, SaysWhatIsWrong) {
  const auto wrong = [](const char* kind, Index n, SinusoidOptions options = {}) {
    EXPECT_THROW(sinusoids(kind, n, options), Error);
  };
  wrong("equal", 10);
  wrong("half", 0);
  wrong("half", 10, {.components = 0});
  wrong("half", 10, {.step = 0});
  wrong("half", 10, {.highest = -1});
  wrong("half", 10, {.noise = -0.1});
}

}  // namespace carmina::testing
