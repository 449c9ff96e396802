// tests/sketches/distributions_test.cpp -- what each distribution has of its own: scales, counts, structure, checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/sketches/distribution.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace carmina::sketches {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const SparseMixing& sparse_part(const Sketch& sketch) { return std::get<SparseMixing>(sketch.mixing); }

TEST(SubSample, DifferentRowsWithOneScale) {
  for (const Index s : {1, 30, 100}) {
    const Sketch sketch = SubSample(s).sample(100, 4);
    EXPECT_EQ(sketch.anchor_count(), s);
    EXPECT_EQ(std::set<Index>(sketch.anchors.begin(), sketch.anchors.end()).size(), sketch.anchors.size());
    const Matrix<double> S = sketch.toarray();
    EXPECT_EQ((S.array() != 0).count(), s);
    EXPECT_DOUBLE_EQ(S.maxCoeff(), std::sqrt(100.0 / double(s)));
  }
}

// All 10 pairs of 5 rows: a chi-squared of 9 degrees of freedom is beyond 33.7 with probability 1e-4.
TEST(SubSample, AllSetsAreEquallyLikely) {
  std::map<std::vector<Index>, int> counts;
  constexpr int draws = 10000;
  for (std::uint64_t seed = 0; seed < draws; ++seed) ++counts[SubSample(2).sample(5, seed).anchors];
  ASSERT_EQ(counts.size(), 10u);
  double statistic = 0;
  for (const auto& [pair, count] : counts) statistic += std::pow(count - draws / 10.0, 2) / (draws / 10.0);
  EXPECT_LT(statistic, 33.7);
}

// In the mean over 20000 samples Sᵀ S is the identity on the rows of positive weight, to 5 standard errors.
TEST(SubSample, WeightsDrawWithReplacementAndAreDividedOut) {
  const SubSample weighted(6, Vector<double>{{0.0, 1.0, 3.0, 0.5, 0.0}});
  Vector<double> sum = Vector<double>::Zero(5), squares = sum, times = sum;
  constexpr int N = 20000;
  bool repeated = false;
  for (std::uint64_t seed = 0; seed < N; ++seed) {
    const Sketch sketch = weighted.sample(5, seed);
    const Matrix<double> S = sketch.toarray();
    ASSERT_EQ(S.rows(), 6);
    repeated |= sketch.anchor_count() < 6;
    for (Index i = 0; i < 6; ++i) EXPECT_EQ((S.row(i).array() != 0).count(), 1);
    const Vector<double> norms = S.colwise().squaredNorm();
    sum += norms;
    squares += norms.cwiseAbs2();
    times += (S.array() != 0).cast<double>().colwise().sum().matrix().transpose();
  }
  EXPECT_TRUE(repeated);
  for (Index j = 0; j < 5; ++j) {
    const double mean = sum[j] / N, error = std::sqrt(std::max(0.0, squares[j] / N - mean * mean) / N);
    EXPECT_NEAR(mean, weighted.weights[j] > 0 ? 1 : 0, 5 * error);
    const double q = weighted.weights[j] / 4.5, draws = 6.0 * N;
    EXPECT_NEAR(times[j], draws * q, 5 * std::sqrt(draws * q * (1 - q)));
  }
}

// mathematics.md 5.5: non-zeros ~ Bin(s n, p) and anchors ~ Bin(n, 1 - (1 - p)^s), each within 5 standard errors of the
// mean (outside with a probability below 1e-6).
template <class D>
void expect_binomial_counts(double p) {
  constexpr Index s = 40, n = 5000;
  const auto near_mean = [](double count, double trials, double probability) {
    const double error = std::sqrt(trials * probability * (1 - probability));
    EXPECT_NEAR(count, trials * probability, 5 * error + 1e-9);
  };
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Sketch sketch = D(s, p).sample(n, seed);
    near_mean(double(sparse_part(sketch).nonZeros()), double(s * n), p);
    near_mean(double(sketch.anchor_count()), double(n), 1 - std::pow(1 - p, double(s)));
  }
}
TEST(SparseRademacher, CountsAreBinomial) {
  for (const double p : {1e-4, 0.004, 0.3, 1.0}) expect_binomial_counts<SparseRademacher>(p);
}
TEST(SparseGaussian, CountsAreBinomial) {
  for (const double p : {1e-4, 0.004, 0.3, 1.0}) expect_binomial_counts<SparseGaussian>(p);
}

// Every entry alone is there with probability p: not only their number is right. 60 places, 4000 samples, 5 errors.
TEST(SparseRademacher, EveryEntryHasTheSameChance) {
  Matrix<double> times = Matrix<double>::Zero(5, 12);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    times += (SparseRademacher(5, 0.2).sample(12, seed).toarray().array() != 0).cast<double>().matrix();
  }
  EXPECT_LT((times.array() - 800).abs().maxCoeff(), 5 * std::sqrt(4000 * 0.2 * 0.8));
}

TEST(SparseRademacher, EntriesArePlusOrMinusOneScale) {
  const Sketch sketch = SparseRademacher(20, 0.1).sample(300, 1);
  const auto& m = sparse_part(sketch);
  const Eigen::Map<const Vector<double>> values(m.valuePtr(), m.nonZeros());
  EXPECT_TRUE((values.array().abs() == 1 / std::sqrt(20 * 0.1)).all());
  EXPECT_NEAR(values.array().sign().sum(), 0, 5 * std::sqrt(double(values.size())));
}

// Mean, variance and fourth moment of N(0, 1), 5 standard errors.
TEST(SparseGaussian, EntriesAreNormal) {
  const Sketch sketch = SparseGaussian(100, 0.05).sample(4000, 1);
  const auto& m = sparse_part(sketch);
  const Vector<double> z = Eigen::Map<const Vector<double>>(m.valuePtr(), m.nonZeros()) * std::sqrt(100 * 0.05);
  const double error = 5 / std::sqrt(double(z.size()));
  EXPECT_NEAR(z.mean(), 0, error);
  EXPECT_NEAR(z.squaredNorm() / double(z.size()), 1, error * std::sqrt(2));
  EXPECT_NEAR(z.array().pow(4).mean(), 3, error * std::sqrt(96));
}

TEST(SparseSketches, TwentyEntriesARowWhenNothingIsSaid) {
  const Sketch sketch = SparseRademacher(50).sample(100000, 2);
  EXPECT_NEAR(double(sparse_part(sketch).nonZeros()), 1000, 5 * std::sqrt(1000.0));
  EXPECT_EQ(SparseRademacher(3).sample(10, 2).toarray().cwiseAbs().minCoeff(), 1 / std::sqrt(3.0));
}

// A sketch of many rows of data costs its entries: an s x n array would be 80 GB here.
TEST(SparseSketches, NothingOfTheWholeSizeIsMade) {
  const Index n = 100'000'000;
  EXPECT_NEAR(double(SparseRademacher(100, 1e-7).sample(n, 3).anchor_count()), 1000, 5 * std::sqrt(1000.0));
  EXPECT_EQ(SubSample(100).sample(n, 3).anchor_count(), 100);
  EXPECT_GT(Accumulation(100, 3).sample(n, 3).anchor_count(), 280);
}

// The obvious generator: add the draws one by one to a dense matrix.
TEST(Accumulation, IsTheSumOfItsDraws) {
  constexpr Index s = 6, m = 5, n = 7;
  const Random random(9, Stream::sketch);
  Matrix<double> expected = Matrix<double>::Zero(s, n);
  for (Index k = 0; k < s * m; ++k) {
    const auto i = static_cast<std::uint64_t>(k);
    const auto column = static_cast<Index>(random.uniform(i, 0) * double(n));
    expected(k / m, column) += (random.bits(i, 1) & 1 ? 1 : -1) * std::sqrt(double(n) / double(s * m));
  }
  EXPECT_LT((Accumulation(s, m).sample(n, 9).toarray() - expected).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(CountSketch, OneSignInEachColumn) {
  const Matrix<double> S = CountSketch(5).sample(3000, 1).toarray();
  EXPECT_TRUE(((S.array() != 0).cast<int>().colwise().sum() == 1).all());
  EXPECT_TRUE((S.cwiseAbs().colwise().sum().array() == 1).all());
  for (Index i = 0; i < 5; ++i) EXPECT_NEAR(S.row(i).squaredNorm(), 600, 5 * std::sqrt(3000 * 0.2 * 0.8));
  EXPECT_NEAR(S.sum(), 0, 5 * std::sqrt(3000.0));
}

TEST(Hadamard, RowsAreOrthogonalWhenNIsAPowerOfTwo) {
  const Matrix<double> S = Hadamard(10).sample(64, 1).toarray();
  EXPECT_LT((S * S.transpose() - Matrix<double>::Identity(10, 10) * 6.4).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_TRUE((Hadamard(10).sample(50, 1).toarray().array().abs() == 1 / std::sqrt(10.0)).all());
  // All rows of the transform: nothing is lost.
  const Matrix<double> whole = Hadamard(64).sample(64, 2).toarray();
  EXPECT_LT((whole.transpose() * whole - Matrix<double>::Identity(64, 64)).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Gaussian, EntriesAreNormalAndNestInLargerN) {
  const Matrix<double> S = Gaussian(50).sample(2000, 1).toarray(), shorter = Gaussian(50).sample(700, 1).toarray();
  EXPECT_EQ(Matrix<double>(S.leftCols(700)), shorter);
  const double error = 5 / std::sqrt(double(S.size()));
  EXPECT_NEAR(S.mean() * std::sqrt(50.0), 0, error);
  EXPECT_NEAR(50 * S.squaredNorm() / double(S.size()), 1, error * std::sqrt(2));
}

TEST(Sketches, MisuseIsSaidInOneSentence) {
  const auto says = [](auto&& body, const char* words) { EXPECT_THAT(body, ThrowsMessage<Error>(HasSubstr(words))); };
  says([] { SparseRademacher(3, 0.0); }, "SparseRademacher: density must be in (0, 1], found 0");
  says([] { SparseGaussian(3, 1.5); }, "SparseGaussian: density must be in (0, 1], found 1.5");
  says([] { SparseGaussian(3, std::nan("")); }, "density must be in (0, 1]");
  says([] { Accumulation(3, 0); }, "Accumulation: m must be positive, found 0");
  says([] { LeverageScores(3, 0.0); }, "LeverageScores: alpha must be positive");
  says([] { Gaussian(0); }, "Gaussian: n_components must be positive, found 0");
  says([] { (void)SubSample(11).sample(10, 0); }, "SubSample: 11 different rows cannot be chosen of 10");
  says([] { (void)SubSample(1, Vector<double>::Ones(3)).sample(10, 0); }, "SubSample: 3 weights for 10 rows");
  says([] { (void)SubSample(1, Vector<double>{{1.0, -1.0}}).sample(2, 0); }, "weights must be finite, not negative");
  says([] { (void)Hadamard(65).sample(60, 0); }, "Hadamard: n_components must be at most 64");
  says([] { (void)CountSketch(2).sample(0, 0); }, "CountSketch: a sketch is of one row or more, found n = 0");
  says([] { (void)make_sketch("unheard", 3); }, "there is no sketch named 'unheard'; known: sub_sample, gaussian, ");
  says([] { (void)make_sketch("accumulation", 3, {{"m", {1.5}}}); }, "m must be an integer, found 1.5");
  says([] { (void)make_sketch("accumulation", 3, {{"density", {0.5}}}); },
       "the accumulation sketch has no parameter 'density'");
  says([] { (void)sample(Distribution(PivotedCholesky(3)), 10, 0); }, "looks at the data");
}

TEST(Sketches, ParametersComeBack) {
  for (const Distribution& d :
       {Distribution(SubSample(3, Vector<double>{{1.0, 2.0}})), Distribution(SparseRademacher(4, 0.25)),
        Distribution(SparseGaussian(4)), Distribution(Accumulation(5, 7)), Distribution(LeverageScores(5, 0.3))}) {
    EXPECT_EQ(make_sketch(sketch_name(d), n_components(d), sketch_parameters(d)), d) << sketch_name(d);
  }
}

}  // namespace
}  // namespace carmina::sketches
