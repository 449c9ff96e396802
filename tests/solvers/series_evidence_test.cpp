// tests/solvers/series_evidence_test.cpp -- the evidence of a series by its lags against the one of all pairs.
#include "solvers/evidence/series_evidence.hpp"
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/random_matrix.hpp"

namespace carmina::series_evidence_test {
namespace {

using testing::random_matrix;

struct Case {
  Vector<double> x, y;
  Mixture mixture, fixed;
  double noise = 0.2;

  Case(Index n, const MixtureFamily& family, const std::function<double(Index)>& time, std::uint64_t seed)
      : x(n), y(random_matrix(n, 1, seed).col(0)) {
    for (Index i = 0; i < n; ++i) x[i] = time(i);
    mixture = {(0.5 * random_matrix(3, 1, seed + 1)).array().exp().matrix(), 0.3 * random_matrix(3, 1, seed + 2),
               0.1 * (0.3 * random_matrix(3, 1, seed + 3)).array().exp().matrix(), family};
    fixed = {Vector<double>::Constant(1, 50), Matrix<double>::Constant(1, 1, 1e-4),
             Matrix<double>::Constant(1, 1, 1e-9), family};
  }
  Mixture both() const {
    Mixture all{Vector<double>(4), Matrix<double>(4, 1), Matrix<double>(4, 1), mixture.family};
    all.weights << mixture.weights, fixed.weights;
    all.means << mixture.means, fixed.means;
    all.scales << mixture.scales, fixed.scales;
    return all;
  }
};

void expect_equal(const Case& c, bool on_grid) {
  const Execution execution{.threads = 2};
  const SeriesEvidence series(c.x, c.y, c.fixed, execution);
  EXPECT_EQ(series.on_grid(), on_grid);
  const Matrix<double> X = c.x, Y = c.y;
  const MixtureEvidence dense = exact_evidence(c.both(), c.noise, X, Y, true, execution);
  const MixtureEvidence found = series(c.mixture, c.noise, true, execution);
  EXPECT_NEAR(found.value, dense.value, 1e-8 * std::abs(dense.value));
  EXPECT_NEAR(found.by_noise, dense.by_noise, 1e-7 * (1 + std::abs(dense.by_noise)));
  const auto near = [](const Matrix<double>& a, const Matrix<double>& b) {
    EXPECT_LE((a - b).norm(), 1e-7 * (1 + b.norm()));
  };
  near(found.by_mixture.weights, dense.by_mixture.weights.head(3));
  near(found.by_mixture.means, dense.by_mixture.means.topRows(3));
  near(found.by_mixture.scales, dense.by_mixture.scales.topRows(3));
  EXPECT_EQ(series(c.mixture, c.noise, false, {}).value, found.value);  // any number of threads
  const Matrix<double> L = series.factor(c.mixture, c.noise, execution);
  const MixtureProcess process = exact_process(c.both(), c.noise, X, Y, execution);
  EXPECT_LE((L - process.L).norm(), 1e-7 * L.norm());
}

TEST(SeriesEvidence, IsThatOfAllPairs) {
  for (const MixtureFamily& family : {MixtureFamily{GaussianFamily{}}, MixtureFamily{LaplaceFamily{}}}) {
    for (const Index n : {2, 3, 17, 60}) {
      const auto seed = static_cast<std::uint64_t>(10 * n);
      expect_equal(Case(n, family, [](Index i) { return 5 + 0.25 * static_cast<double>(i); }, seed), true);
      expect_equal(Case(n, family, [](Index i) { return static_cast<double>(i + 4 * (i / 3)); }, seed), true);  // gaps
    }
    // No grid.
    const Matrix<double> jitter = random_matrix(40, 1, 8);
    expect_equal(
        Case(40, family, [&](Index i) { return static_cast<double>(i) + 0.3 * std::tanh(jitter(i, 0)); }, 4), false);
    // The same time twice.
    expect_equal(Case(30, family, [](Index i) { return static_cast<double>(i / 2); }, 5), true);
  }
}

TEST(SeriesEvidence, DecimalYearsOfDaysAreOnAGrid) {
  const Case c(
      200, GaussianFamily{},
      [](Index i) { return std::round((1981 + static_cast<double>(3 * i + (i * i) % 2) / 365) * 1e6) / 1e6; }, 3);
  EXPECT_TRUE(SeriesEvidence(c.x, c.y, c.fixed, {}).on_grid());
}

TEST(SeriesEvidence, IsNowhereWhereRoundingLeavesNoFactor) {
  Case c(30, GaussianFamily{}, [](Index i) { return static_cast<double>(i); }, 3);
  c.mixture.scales.setConstant(1e-9);
  const SeriesEvidence series(c.x, c.y, c.fixed, {});
  EXPECT_EQ(series(c.mixture, 1e-25, true, {}).value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(series.factor(c.mixture, 1e-25, {}).size(), 0);
}

}  // namespace
}  // namespace carmina::series_evidence_test
