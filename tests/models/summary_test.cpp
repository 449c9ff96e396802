// tests/models/summary_test.cpp -- the sample of rows for the median width: weights as repetitions, at no cost.
#include "models/fit/summary.hpp"

#include <carmina/models/kernel_machine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <support/given_numbers.hpp>
#include "support/random_matrix.hpp"

namespace carmina {
namespace {

using carmina::testing::random_matrix;

constexpr Index sample_size = 2000;

// Inputs 0, 1, 2, ... so that the sample says which rows it holds.
Matrix<double> numbered(Index n) {
  return Matrix<double>::NullaryExpr(n, 1, [](Index i, Index) { return static_cast<double>(i); });
}

DataSummary summary_of(const Matrix<double>& X, const std::vector<double>& weights, Index rows_at_once = 1 << 14) {
  const Matrix<double> Y = Matrix<double>::Zero(X.rows(), 1);
  MemoryRows<double> rows(X, Y, weights.empty() ? nullptr : weights.data());
  DataRows<double> data(rows);
  data.read_at_once(rows_at_once);
  return summarize(data, false, false, Execution{});
}

std::vector<double> sorted_sample(const DataSummary& summary) {
  std::vector<double> out(summary.sample.data(), summary.sample.data() + summary.sample.size());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Index> repeated(const std::vector<double>& weights) {
  std::vector<Index> which;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    which.insert(which.end(), static_cast<std::size_t>(weights[i]), static_cast<Index>(i));
  }
  return which;
}

std::vector<double> random_weights(Index n, std::uint64_t most, std::uint64_t seed) {
  const Random random(seed, Stream::data);
  std::vector<double> weights;
  for (Index i = 0; i < n; ++i) weights.push_back(double(random.bits(static_cast<std::uint64_t>(i)) % (most + 1)));
  return weights;
}

TEST(RowSample, HoldsAllCopiesWhileThereIsRoom) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<double> weights = random_weights(300, 9, seed);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    ASSERT_LT(sum, sample_size);
    weights.push_back(sample_size - sum);  // exactly as many as there is room for
    const Matrix<double> X = numbered(301), many = X(repeated(weights), Eigen::all);
    const DataSummary a = summary_of(X, weights), b = summary_of(many, {});
    EXPECT_EQ(a.sample.rows(), sample_size);
    EXPECT_EQ(sorted_sample(a), sorted_sample(b));
    EXPECT_EQ(a.sample_weights, std::vector<double>(sample_size, 1.0));
    EXPECT_EQ(median_distance(a.sample, a.sample_weights, {}), median_distance(b.sample, b.sample_weights, {}));
  }
}

TEST(RowSample, DoesNotDependOnBlocks) {
  const Matrix<double> X = numbered(5000);
  for (const std::vector<double>& weights : {std::vector<double>{}, random_weights(5000, 5, 1)}) {
    const DataSummary whole = summary_of(X, weights, 5000);
    for (const Index at_once : {1, 7, 1000, 4999}) {
      const DataSummary parts = summary_of(X, weights, at_once);
      EXPECT_EQ(whole.sample, parts.sample) << at_once;
    }
  }
}

// A row's random numbers are those of its number: what other rows weigh does not change them.
TEST(RowSample, KeysAreByRowNumber) {
  const Matrix<double> X = numbered(5000);
  std::vector<double> weights(5000, 1.0);
  const std::vector<double> before = sorted_sample(summary_of(X, weights));
  weights[0] = 3;
  const std::vector<double> after = sorted_sample(summary_of(X, weights));
  std::vector<double> lost;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(lost));
  EXPECT_LE(lost.size(), 3u);
}

// Copies of a row in the sample are hypergeometric, of mean k w / W and variance k w/W (1 - w/W) (W - k) / (W - 1), for
// weighted and for repeated rows. Rows of weight zero in front give the others new numbers, and so another sample.
TEST(RowSample, CopiesHaveTheirDistribution) {
  constexpr int draws = 300;
  const std::vector<double> weights = {1, 2, 10, 100, 400, 987, 1500, 3000};
  const double W = std::accumulate(weights.begin(), weights.end(), 0.0), k = sample_size;
  const auto n = static_cast<Index>(weights.size());
  std::map<double, double> sum, square;
  for (int draw = 0; draw < draws; ++draw) {
    const Index before = n * draw;
    std::vector<double> with(static_cast<std::size_t>(before), 0.0);
    with.insert(with.end(), weights.begin(), weights.end());
    const DataSummary summary = summary_of(numbered(before + n), with);
    ASSERT_EQ(summary.sample.rows(), sample_size);
    std::map<double, double> copies;
    for (const double x : sorted_sample(summary)) ++copies[x - double(before)];
    for (Index i = 0; i < n; ++i)
      sum[double(i)] += copies[double(i)], square[double(i)] += std::pow(copies[double(i)], 2);
  }
  for (Index i = 0; i < n; ++i) {
    const double share = weights[static_cast<std::size_t>(i)] / W, mean = sum[double(i)] / draws;
    const double variance = k * share * (1 - share) * (W - k) / (W - 1);
    EXPECT_NEAR(mean, k * share, 4 * std::sqrt(variance / draws)) << i;
    // Of nearly normal counts the variance has the relative error sqrt(2 / draws); small counts are not normal.
    if (k * share > 10) {
      EXPECT_NEAR(square[double(i)] / draws - mean * mean, variance, 4 * variance * std::sqrt(2.0 / draws)) << i;
    }
  }
}

// The copies of a row are no closer to each other in the order of keys than those of other rows: with equal weights,
// all kinds of pairs are equally likely among the smallest keys.
TEST(RowSample, ManyRowsOfEqualWeightEnterEqually) {
  const Index n = 4000;
  for (const double w : {1.0, 7.0, 1e6}) {
    const DataSummary summary = summary_of(numbered(n), std::vector<double>(static_cast<std::size_t>(n), w));
    std::map<double, double> copies;
    for (const double x : sorted_sample(summary)) ++copies[x];
    double pairs = 0;
    for (const auto& [row, count] : copies) pairs += count * (count - 1) / 2;
    const double k = sample_size, expected = k * (k - 1) / 2 * (w - 1) / (double(n) * w - 1);  // Poisson, nearly
    EXPECT_NEAR(pairs, expected, 4 * std::sqrt(expected) + 1e-9) << w;
  }
}

TEST(RowSample, MedianOfAWeightedSampleIsThatOfRepeatedRows) {
  const Matrix<double> X = random_matrix(1500, 2, 1);
  const std::vector<double> weights = random_weights(1500, 20, 2);
  const Matrix<double> many = X(repeated(weights), Eigen::all);
  const DataSummary a = summary_of(X, weights), b = summary_of(many, {});
  // Medians of 2000 rows' distances differ by about 2 % / sqrt(2).
  EXPECT_NEAR(median_distance(a.sample, a.sample_weights, {}) / median_distance(b.sample, b.sample_weights, {}), 1,
              0.06);
}

// Each of these would run for minutes, or for ever, if a row cost as much as it weighs.
TEST(RowSample, LargeWeightsCostNothing) {
  const Matrix<double> X = random_matrix(3000, 2, 1), Y = random_matrix(3000, 1, 2);
  for (const double w : {1e8, 9007199254740994.0, 1e18, 1e300}) {
    const std::vector<double> weights(3000, w);
    const DataSummary summary = summary_of(X, weights);
    EXPECT_EQ(summary.sample.rows(), sample_size);
    const double ratio = median_distance(summary.sample, summary.sample_weights, {}) /
                         median_distance(summary_of(X, {}).sample, std::vector<double>(sample_size, 1.0), {});
    EXPECT_NEAR(ratio, 1, 0.06) << w;
    std::vector<double> one_large(3000, 1.0);
    one_large[17] = w;
    EXPECT_EQ(summary_of(X, one_large).sample.rows(), sample_size);
  }
  FitOptions options = given_numbers();
  options.n_components = 10;
  const std::vector<double> weights(3000, 1e8);
  EXPECT_TRUE(KernelMachine<double>::fit(X, Y, options, weights.data()).predict(X).allFinite());
}

}  // namespace
}  // namespace carmina
