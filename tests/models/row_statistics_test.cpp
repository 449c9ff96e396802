// tests/models/row_statistics_test.cpp -- the tree of the first pass: exact sums in long double, any division, no
// cancellation.
#include "models/fit/row_statistics.hpp"

#include <gtest/gtest.h>

#include "support/processes.hpp"
#include "support/random_matrix.hpp"

namespace carmina::row_statistics_test {
namespace {

using testing::random_matrix;

struct Rows {
  Matrix<double> X, Y;
  Vector<double> w;
  Rows(Index n, double offset) : X(random_matrix(n, 3, 1).array() + offset), Y(random_matrix(n, 2, 2)), w(n) {
    const Matrix<double> u = random_matrix(n, 3, 3);
    for (Index i = 0; i < n; ++i) {
      w[i] = std::abs(u(i, 0));
      if (u(i, 1) > 1.2) X(i, 1) = std::nan("");
      if (u(i, 2) > 1) Y(i, 0) = std::nan("");
    }
    Y.col(1) += 0.5 * X.col(0);
  }
};

RowStatistics of(const Rows& rows, Index begin, Index end, const Communicator* processes) {
  RowStatisticsTree tree(3, 2, true, begin);
  for (Index i = begin; i < end; ++i) tree.add(i, rows.X.row(i), rows.Y.row(i), rows.w[i]);
  return tree.total(end, processes);
}

// Weighted mean and squares about it of the cells that are there.
std::pair<double, double> oracle(const Vector<double>& x, const Vector<double>& w) {
  long double weight = 0, sum = 0, square = 0;
  for (Index i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i])) weight += w[i], sum += static_cast<long double>(w[i]) * x[i];
  }
  const long double mean = weight > 0 ? sum / weight : 0;
  for (Index i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i])) square += w[i] * (x[i] - mean) * (x[i] - mean);
  }
  return {static_cast<double>(mean), static_cast<double>(square)};
}

TEST(RowStatistics, AreThoseOfAllRows) {
  for (const Index n : {1, 2, 127, 128, 129, 1000, 5000}) {
    for (const double offset : {0.0, 1e7}) {
      const Rows rows(n, offset);
      const RowStatistics found = of(rows, 0, n, nullptr);
      EXPECT_NEAR(found.weight, rows.w.sum(), 1e-12 * rows.w.sum());
      for (Index j = 0; j < 3; ++j) {
        const auto [mean, square] = oracle(rows.X.col(j), rows.w);
        EXPECT_NEAR(found.inputs.mean[j], mean, 1e-14 * (1 + std::abs(mean)));
        EXPECT_NEAR(found.inputs.square[j], square, 1e-7 * (offset > 0 ? 1 : 1e-5) * (1e-3 + square)) << n;
      }
      // A pair's sums are over the rows that have both.
      Vector<double> both = rows.w;
      for (Index i = 0; i < n; ++i) both[i] = std::isnan(rows.Y(i, 0)) ? 0.0 : both[i];
      const double mean = both.sum() > 0 ? both.dot(rows.Y.col(1)) / both.sum() : 0;
      double product = 0, own = 0, other = 0;
      for (Index i = 0; i < n; ++i) {
        if (both[i] == 0) continue;
        product += both[i] * rows.Y(i, 0) * (rows.Y(i, 1) - mean);
        own += both[i] * rows.Y(i, 0) * rows.Y(i, 0), other += both[i] * rows.Y(i, 1) * rows.Y(i, 1);
      }
      EXPECT_NEAR(found.pairs.product(0, 1), product, 1e-8 * (1e-3 + std::sqrt(own * other)));
      EXPECT_EQ(found.pairs.product(0, 1), found.pairs.product(1, 0));
    }
  }
}

TEST(RowStatistics, AreTheSameForAnyDivisionAtRuns) {
  constexpr Index n = 5000, run = RowStatisticsTree::run;
  const Rows rows(n, 3);
  const RowStatistics whole = of(rows, 0, n, nullptr);
  for (const std::vector<Index>& ends : {std::vector<Index>{n},
                                         {run, n},
                                         {5 * run, 5 * run, 17 * run, n},
                                         {0, 20 * run, n, n},
                                         {run, 2 * run, 3 * run, 4 * run, 39 * run, n}}) {
    const auto all = testing::run_processes(static_cast<int>(ends.size()), [&](const Communicator& processes) {
      const auto rank = static_cast<std::size_t>(processes.rank());
      return of(rows, rank == 0 ? 0 : ends[rank - 1], ends[rank], &processes);
    });
    for (const auto& one : all) {
      ASSERT_TRUE(one.result) << one.error;
      EXPECT_EQ(one.result->weight, whole.weight);
      EXPECT_EQ(one.result->inputs.mean, whole.inputs.mean);
      EXPECT_EQ(one.result->inputs.square, whole.inputs.square);
      EXPECT_EQ(one.result->targets.mean, whole.targets.mean);
      EXPECT_EQ(one.result->pairs.product, whole.pairs.product);
    }
  }
}

// Columns: fewer than a register, as many, and such that the last registers overlap.
template <class T>
void expect_runs_are_rows(Index d, Index p, double scale) {
  constexpr Index run = RowStatisticsTree::run, runs = 5, ldx = 40;
  const Matrix<T> X = (scale * random_matrix(run * runs, ldx, 7)).template cast<T>();
  const Matrix<T> Y = (scale * random_matrix(run * runs, ldx, 8)).template cast<T>();
  RowStatisticsTree by_runs(d, p, true, 0), by_rows(d, p, true, 0);
  for (Index k = 0; k < runs; ++k) {
    ASSERT_TRUE(by_runs.add_run(k * run, X.row(k * run).data(), ldx, Y.row(k * run).data(), ldx)) << d;
    for (Index i = k * run; i < (k + 1) * run; ++i) by_rows.add(i, X.row(i).head(d), Y.row(i).head(p), 1);
  }
  std::vector<double> found, expected;
  const auto into = [](std::vector<double>& to) {
    return [&to](const auto& values) { to.insert(to.end(), values.data(), values.data() + values.size()); };
  };
  by_runs.total(runs * run, nullptr).visit(into(found));
  by_rows.total(runs * run, nullptr).visit(into(expected));
  EXPECT_EQ(found, expected) << d << " inputs, " << p << " targets";
}

TEST(RowStatistics, RunsAreTheirRowsToTheBit) {
  for (const Index d : {1, 2, 3, 7, 8, 9, 16, 23, 40}) {
    for (const Index p : {0, 1, 3, 8}) {
      expect_runs_are_rows<float>(d, p, 1e3);
      expect_runs_are_rows<double>(d, p, 1e-5);
    }
  }
}

TEST(RowStatistics, ARunWithACellThatIsNoNumberIsLeftToItsRows) {
  constexpr Index run = RowStatisticsTree::run;
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const Index at : {Index{0}, Index{50}, run - 1}) {
      for (const Index column : {0, 9, 10}) {
        Matrix<double> X = random_matrix(run, 11, 7), Y = random_matrix(run, 1, 8);
        RowStatisticsTree tree(11, 1, false, 0);
        X(at, column) = wrong;
        EXPECT_FALSE(tree.add_run(0, X.data(), 11, Y.data(), 1)) << wrong << " in row " << at;
        EXPECT_TRUE(tree.add_run(0, Matrix<double>::Zero(run, 11).eval().data(), 11, Y.data(), 1));
        EXPECT_EQ(tree.total(run, nullptr).weight, static_cast<double>(run));
      }
    }
  }
}

TEST(RowStatistics, ColumnsThatDoNotVaryHaveNoSquares) {
  RowStatisticsTree tree(1, 1, true, 0);
  for (Index i = 0; i < 1000; ++i)
    tree.add(i, Vector<double>::Constant(1, 0.1).eval(), Vector<double>::Constant(1, 1e9 / 3).eval(), 0.7);
  const RowStatistics found = tree.total(1000, nullptr);
  EXPECT_EQ(found.inputs.mean[0], 0.1);
  EXPECT_EQ(found.inputs.square[0], 0);
  EXPECT_EQ(found.pairs.product(0, 0), 0);
}

}  // namespace
}  // namespace carmina::row_statistics_test
