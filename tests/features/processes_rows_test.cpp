// tests/features/processes_rows_test.cpp -- the door to rows that several processes have: what travels, and the
// division of rows itself.
#include "features/feature_rows.hpp"
#include "features/fourier_map.hpp"

#include <gtest/gtest.h>

#include "support/processes.hpp"
#include "support/random_matrix.hpp"

namespace carmina::processes_rows_test {
namespace {

using testing::random_matrix;
using testing::run_processes;

constexpr Index n = 3000, d = 4, p = 2, units = 15, m = 2 * units;

// Of some work with the rows, after they were made: bytes that all processes have sent but for the rounds before.
template <class Work>
double bytes_of(int size, const Work& work) {
  const Matrix<double> X = random_matrix(n, d, 1), Y = random_matrix(n, p, 2), W = random_matrix(units, d, 3);
  const auto all = run_processes(size, [&](const Communicator& processes) {
    const Index first = n * processes.rank() / size, end = n * (processes.rank() + 1) / size;
    MemoryRows<double> own(X.middleRows(first, end - first), Y.middleRows(first, end - first));
    const DataRows<double> rows({&own}, &processes);
    const FourierMap<double> map(W);
    const auto features = rows_of(map, rows, FeatureStorage::none, {.threads = 1});
    const Traffic before = processes.traffic();
    work(*features);
    return processes.traffic().bytes - before.bytes;
  });
  double bytes = 0;
  for (const auto& one : all) bytes += static_cast<double>(*one.result);
  return bytes;
}

double round_bytes(int size) { return 2.0 * (size - 1) * 40; }

TEST(ProcessesRows, WhatTravels) {
  for (const int size : {2, 3, 5}) {
    const double links = size - 1;
    const auto normal = [](const FeatureRows& rows) {
      Matrix<double> out;
      rows.normal(random_matrix(m, 3, 4), out);
    };
    EXPECT_EQ(bytes_of(size, normal), round_bytes(size) + links * 16 * m * 3);
    const auto adjoint = [](const FeatureRows& rows) {
      Matrix<double> out;
      rows.adjoint(random_matrix(n, 3, 4), out);
    };
    EXPECT_EQ(bytes_of(size, adjoint), round_bytes(size) + links * 16 * m * 3);
    const auto moments = [](const FeatureRows& rows) {
      Moments sums(m, Vector<double>::Zero(p));
      rows.moments(sums);
    };
    const double width = m + p + 1, count = 2 * links * 8 + round_bytes(size);
    EXPECT_EQ(bytes_of(size, moments), round_bytes(size) + links * 8 * width * (width + 1) + count);
    // All rows go to all processes; their numbers first.
    const auto forward = [](const FeatureRows& rows) {
      Matrix<double> F;
      rows.forward(random_matrix(m, 3, 4), F);
      EXPECT_EQ(F.rows(), n);
    };
    EXPECT_EQ(bytes_of(size, forward),
              2 * round_bytes(size) + links * 8 * n * 3 + 2 * links * 8 * static_cast<double>(size));
  }
}

// Any division of the rows: segments are whole, each row is in one place, and all are there in their order.
TEST(ProcessesRows, AreDividedOnSegments) {
  const Matrix<double> X = Matrix<double>::NullaryExpr(n, 1, [](Index i, Index) { return static_cast<double>(i); });
  const Matrix<double> Y = 2 * X;
  const Vector<double> w = Vector<double>::NullaryExpr(n, [](Index i) { return i < 2000 ? 1.0 : 1.0 + double(i); });
  const std::vector<std::vector<Index>> divisions = {
      {3000}, {1500, 1500}, {0, 3000}, {3000, 0}, {1, 1, 2998}, {5, 10, 200, 2, 2783}, {2999, 0, 1}, {384, 384, 2232}};
  for (const auto& counts : divisions) {
    const auto size = static_cast<int>(counts.size());
    const auto all = run_processes(size, [&](const Communicator& processes) {
      Index first = 0;
      for (int k = 0; k < processes.rank(); ++k) first += counts[static_cast<std::size_t>(k)];
      const Index count = counts[static_cast<std::size_t>(processes.rank())];
      MemoryRows<double> own(X.middleRows(first, count), Y.middleRows(first, count), w.data() + first);
      const DataRows<double> rows({&own}, &processes);
      EXPECT_EQ(rows.rows(), n);
      EXPECT_EQ(rows.first_row() % rows.grid().segment == 0 || rows.first_row() == n, true);
      std::vector<double> seen;
      rows.for_blocks("reading", {}, [&](const RowBlock<double>& block) {
        EXPECT_EQ(block.first_row % rows.grid().stretch, 0);
        for (Index i = 0; i < block.rows; ++i) {
          EXPECT_EQ(block.X[i * block.x_stride], static_cast<double>(block.first_row + i));
          EXPECT_EQ(block.Y[i * block.y_stride], 2 * static_cast<double>(block.first_row + i));
          EXPECT_EQ(block.weights ? block.weights[i] : 1.0, w[block.first_row + i]);
          seen.push_back(block.X[i * block.x_stride]);
        }
      });
      EXPECT_EQ(static_cast<Index>(seen.size()), rows.own_rows());
      const HeldRows<double> some = rows.gather(std::vector<Index>{0, 7, 1999, 2999}, {});
      EXPECT_EQ(some.numbers, (std::vector<Index>{0, 7, 1999, 2999}));
      EXPECT_EQ(some.X(3, 0), 2999);
      return processes.gather(seen).size();
    });
    for (const auto& one : all) {
      ASSERT_TRUE(one.result) << one.error;
      EXPECT_EQ(*one.result, static_cast<std::size_t>(n));
    }
  }
}

}  // namespace
}  // namespace carmina::processes_rows_test
