// tests/models/empirical_spectrum_test.cpp -- periodograms against plain sums, and starts that find what is in the
// data.
#include "models/mixture/empirical_spectrum.hpp"
#include <carmina/core/error.hpp>
#include <carmina/data/generators.hpp>

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <cmath>
#include <numbers>
#include <numeric>

#include "support/random_matrix.hpp"

namespace carmina::testing {

constexpr double pi = std::numbers::pi;

Vector<double> times(Index n, double step) {
  return step * Vector<double>::LinSpaced(n, 0, static_cast<double>(n - 1));
}

double variance(const Vector<double>& y) { return (y.array() - y.mean()).square().mean(); }

// What the best sine and cosine of this frequency take from the mean square, by normal equations.
double explained(const Vector<double>& x, const Vector<double>& y, double f) {
  Matrix<double> A(x.size(), 2);
  A.col(0) = (2 * pi * f * x.array()).cos();
  A.col(1) = (2 * pi * f * x.array()).sin();
  const Vector<double> centred = y.array() - y.mean();
  const Vector<double> b = A.transpose() * centred;
  return b.dot((A.transpose() * A).eval().ldlt().solve(b)) / static_cast<double>(x.size());
}

TEST(Periodogram, OfEvenInputsIsTheDiscreteTransformForAnyLength) {
  for (const Index n : {2, 3, 8, 97, 100, 210}) {
    const Vector<double> y = random_matrix(n, 1, static_cast<std::uint64_t>(n)), x = times(n, 0.25).array() + 1e3;
    const Periodogram p = periodogram(x, y);
    ASSERT_EQ(p.frequencies.size(), n / 2);
    EXPECT_NEAR(p.power.sum(), variance(y), 1e-10 * variance(y));
    EXPECT_NEAR(p.resolution, 1 / (0.25 * static_cast<double>(n - 1)), 1e-9);
    for (Index k = 0; k < p.frequencies.size(); ++k) {
      EXPECT_NEAR(p.frequencies(k), static_cast<double>(k + 1) / (0.25 * static_cast<double>(n)), 1e-8);
      if (2 * (k + 1) == n) continue;  // a sine of half the sampling rate is zero
      EXPECT_NEAR(p.power(k), explained(times(n, 1), y, static_cast<double>(k + 1) / static_cast<double>(n)), 1e-8);
    }
  }
}

TEST(Periodogram, DoesNotMindTheOrderOfRows) {
  const Vector<double> x = times(50, 0.1), y = random_matrix(50, 1, 1);
  const Periodogram forward = periodogram(x, y), backward = periodogram(x.reverse(), y.reverse());
  EXPECT_LT(max_difference(forward.power, backward.power), 1e-13);
}

TEST(Periodogram, OfUnevenInputsIsTheLeastSquaresFit) {
  const Vector<double> x = 10 * random_matrix(60, 1, 2), y = random_matrix(60, 1, 3);
  const Periodogram p = periodogram(x, y, 2.0, 1000);
  EXPECT_NEAR(p.resolution, 1 / (x.maxCoeff() - x.minCoeff()), 1e-12);
  EXPECT_LE(p.frequencies(p.frequencies.size() - 1), 2.0);
  EXPECT_GT(p.frequencies(p.frequencies.size() - 1), 2.0 - p.resolution);
  for (Index k = 0; k < p.frequencies.size(); ++k) {
    EXPECT_NEAR(p.power(k), explained(x, y, p.frequencies(k)), 1e-10);
  }
}

// Gaps in an even series: still the grid's frequencies, and a line stands at its place with its variance.
TEST(Periodogram, OfASeriesWithGapsFindsTheLine) {
  std::vector<double> kept;
  for (Index i = 0; i < 400; ++i) {
    if (i % 7 != 3 && (i < 100 || i > 140)) kept.push_back(0.5 * static_cast<double>(i));
  }
  const Vector<double> x = Eigen::Map<Vector<double>>(kept.data(), static_cast<Index>(kept.size()));
  const Vector<double> y = 2 * (2 * pi * 0.2 * x.array()).sin();
  const Periodogram p = periodogram(x, y);
  Index at = 0;
  EXPECT_NEAR(p.power.maxCoeff(&at), 2 * static_cast<double>(kept.size()) / 400, 0.05);
  EXPECT_NEAR(p.frequencies(at), 0.2, 1e-9);
}

TEST(Periodogram, KeepsTheStrongestFrequenciesInOrder) {
  const Vector<double> x = times(1001, 0.1), y = random_matrix(1001, 1, 4);
  const Periodogram all = periodogram(x, y), some = periodogram(x, y, 0, 20);
  ASSERT_EQ(some.power.size(), 20);
  Vector<double> sorted = all.power;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  EXPECT_NEAR(some.power.sum(), sorted.head(20).sum(), 1e-12);
  EXPECT_TRUE(std::is_sorted(some.frequencies.begin(), some.frequencies.end()));
}

void expect_sound(const Mixture& mixture, Index Q, Index d) {
  EXPECT_NO_THROW(mixture.check());
  EXPECT_EQ(mixture.size(), Q);
  EXPECT_EQ(mixture.dim_in(), d);
}

// The largest distance from one of the `count` strongest true frequencies to the nearest mean.
double farthest(const Sinusoids& data, const Mixture& mixture, Index count) {
  std::vector<Index> order(static_cast<std::size_t>(data.weights.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return data.weights(a) > data.weights(b); });
  double worst = 0;
  for (Index k = 0; k < count; ++k) {
    const double f = data.frequencies(order[static_cast<std::size_t>(k)]);
    worst = std::max(worst, (mixture.means.col(0).array() - f).abs().minCoeff());
  }
  return worst;
}

TEST(EmpiricalStart, FindsTheFiveStrongestSinusoids) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SinusoidOptions options;
    options.seed = seed;
    const Sinusoids data = sinusoids("half", 2000, options);
    const Mixture mixture = empirical_start(data.X, data.Y, 10, 0, Random(seed));
    expect_sound(mixture, 10, 1);
    EXPECT_LT(farthest(data, mixture, 5), 0.027) << "seed " << seed;
    EXPECT_LE(mixture.weights.sum(), variance(data.Y) * (1 + 1e-3));
    EXPECT_GE(mixture.scales.minCoeff(), 0.5 / 199.9 * (1 - 1e-9));
  }
}

TEST(EmpiricalStart, FindsTwoSinusoidsAtUnevenTimesUnderNoise) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Random random(seed, 5);
    Matrix<double> X(300, 1), Y(300, 2);
    for (Index i = 0; i < 300; ++i) {
      const auto row = static_cast<std::uint64_t>(i);
      X(i, 0) = 40 * random.uniform(row);
      Y(i, 0) = std::sin(2 * pi * 0.31 * X(i, 0)) + 0.3 * random.normal(row, 1);
      Y(i, 1) = 0.7 * std::cos(2 * pi * 0.84 * X(i, 0)) + 0.3 * random.normal(row, 2);
      if (i % 5 == 0) Y(i, i % 2) = std::numeric_limits<double>::quiet_NaN();
    }
    const Mixture mixture = empirical_start(X, Y, 2, 0, random);
    expect_sound(mixture, 2, 1);
    EXPECT_NEAR(mixture.means.minCoeff(), 0.31, 0.01) << "seed " << seed;
    EXPECT_NEAR(mixture.means.maxCoeff(), 0.84, 0.01) << "seed " << seed;
    EXPECT_NEAR(mixture.weights.maxCoeff(), 0.25, 0.1);  // half of the variances 1/2 and 0.245
    EXPECT_NEAR(mixture.weights.minCoeff(), 0.12, 0.06);
  }
}

TEST(EmpiricalStart, StartsDifferAndAreFunctionsOfTheSeed) {
  const Sinusoids data = sinusoids("almost", 500, {});
  const Mixture first = empirical_start(data.X, data.Y, 6, 0, Random(1));
  const Mixture second = empirical_start(data.X, data.Y, 6, 1, Random(1));
  const Mixture third = empirical_start(data.X, data.Y, 6, 2, Random(1));
  EXPECT_EQ(second, empirical_start(data.X, data.Y, 6, 1, Random(1)));
  EXPECT_EQ(first, empirical_start(data.X, data.Y, 6, 0, Random(2)));  // an even series: no random number is used
  EXPECT_FALSE(second == third);
  EXPECT_FALSE(second == first);
  for (const Mixture& m : {second, third}) expect_sound(m, 6, 1);
}

// y depends on the first of three columns: the other two have no peaks above noise and get wide, centred components.
TEST(EmpiricalStart, TakesNoNoiseForPeaksWhereThereAreSeveralColumns) {
  const Matrix<double> X = random_matrix(2000, 3, 5);
  const Vector<double> y = (2 * pi * 0.6 * X.col(0).array()).sin() + 0.2 * random_matrix(2000, 1, 6).array();
  const Mixture mixture = empirical_start(X, y, 3, 0, Random(0));
  expect_sound(mixture, 3, 3);
  EXPECT_LT((mixture.means.col(0).array() - 0.6).abs().minCoeff(), 0.05);
  EXPECT_EQ(mixture.means.rightCols(2).cwiseAbs().maxCoeff(), 0);
  EXPECT_NEAR(mixture.scales(0, 1), 1 / (2 * pi * std::sqrt(6.0)), 0.01);
}

TEST(EmpiricalStart, IsSoundWhereThereIsNothingToFind) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const Matrix<double> line = times(20, 1), one = Matrix<double>::Ones(20, 1), two = Matrix<double>::Ones(20, 2);
  Matrix<double> half_missing = line;
  half_missing.topRows(19).setConstant(missing);
  Matrix<double> repeated(20, 1);
  repeated << times(10, 1), times(10, 1);
  for (Index start = 0; start < 3; ++start) {
    for (const Index Q : {1, 5, 30}) {
      expect_sound(empirical_start(line, one, Q, start, Random(1)), Q, 1);  // constant targets
      expect_sound(empirical_start(one, line, Q, start, Random(1)), Q, 1);  // constant inputs
      expect_sound(empirical_start(two, line, Q, start, Random(1)), Q, 2);  // of two columns
      expect_sound(empirical_start(line.topRows(1), line.topRows(1), Q, start, Random(1)), Q, 1);
      expect_sound(empirical_start(line.topRows(2), line.topRows(2), Q, start, Random(1)), Q, 1);
      expect_sound(empirical_start(repeated, line, Q, start, Random(1)), Q, 1);
      expect_sound(empirical_start(line, line, Q, start, Random(1)), Q, 1);          // fewer peaks than components
      expect_sound(empirical_start(line, half_missing, Q, start, Random(1)), Q, 1);  // one value is there
      expect_sound(empirical_start(line, missing * one, Q, start, Random(1)), Q, 1);
    }
  }
}

TEST(EmpiricalStart, TakesLargeDataByAFewOfItsRows) {
  const Index n = 300'000;
  Matrix<double> X(n, 2), y(n, 1);
  const Random random(3, 9);
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::uint64_t>(i);
    X.row(i) << random.uniform(row), random.uniform(row, 1);
    y(i, 0) = std::sin(2 * pi * (7 * X(i, 0) + 3 * X(i, 1)));
  }
  const Mixture mixture = empirical_start(X, y, 4, 0, random);
  expect_sound(mixture, 4, 2);
  const Mixture series = empirical_start(X.leftCols(1), (2 * pi * 7 * X.col(0).array()).sin().matrix(), 2, 0, random);
  EXPECT_NEAR(series.means(0, 0), 7, 0.1);
}

TEST(EmpiricalStart, SaysWhatIsWrong) {
  const Matrix<double> X = times(5, 1);
  EXPECT_THROW(empirical_start(X, X.topRows(4), 2, 0, Random(1)), Error);
  EXPECT_THROW(empirical_start(X, X, 0, 0, Random(1)), Error);
  EXPECT_THROW(empirical_start(std::numeric_limits<double>::quiet_NaN() * X, X, 2, 0, Random(1)), Error);
  EXPECT_THROW(periodogram(X.col(0), Vector<double>::Ones(4)), Error);
}

}  // namespace carmina::testing
