// tests/data/table_checks.hpp -- what the tests of every format share: reading in blocks, and the message of an
// Error.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>
#include <carmina/data/table.hpp>

#include <cmath>
#include <limits>
#include <support/temp_dir.hpp>

namespace carmina::testing {

inline const double nan = std::numeric_limits<double>::quiet_NaN();

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}
inline std::string error_of_reading(const std::string& path) {
  return error_of([&] { read_table(path); });
}

inline std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return names;
}

// Equal, with NaN equal to NaN.
inline void expect_same(const Matrix<double>& found, const Matrix<double>& expected, const std::string& what = "") {
  ASSERT_EQ(found.rows(), expected.rows()) << what;
  ASSERT_EQ(found.cols(), expected.cols()) << what;
  for (Index i = 0; i < found.rows(); ++i) {
    for (Index j = 0; j < found.cols(); ++j) {
      const double a = found(i, j), b = expected(i, j);
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
          << what << " (" << i << ", " << j << "): " << a << " " << b;
    }
  }
}

// All rows by blocks of `block` rows, each of which but the last must be full.
inline Matrix<double> read_in_blocks(TableReader& reader, Index block) {
  const auto columns = static_cast<Index>(reader.columns().size());
  Matrix<double> all(0, columns), part(block, columns);
  bool ended = false;
  for (Index count = reader.read(part); count > 0; count = reader.read(part)) {
    EXPECT_FALSE(ended) << "rows after a block that was not full";
    ended = count < block;
    all.conservativeResize(all.rows() + count, columns);
    all.bottomRows(count) = part.topRows(count);
  }
  EXPECT_EQ(reader.read(part), 0) << "the end must stay the end";
  return all;
}

// The same rows in blocks of 1, 7 and all, again after a rewind, and after a rewind half way.
inline void expect_table(const std::string& path, const Matrix<double>& expected) {
  const auto reader = open_table(path);
  if (reader->rows()) {
    EXPECT_EQ(*reader->rows(), expected.rows()) << path;
  }
  for (Index block : {Index{1}, Index{7}, expected.rows(), expected.rows() + 5}) {
    expect_same(read_in_blocks(*reader, block), expected, path);
    reader->rewind();
    Matrix<double> first(1, expected.cols());
    EXPECT_EQ(reader->read(first), 1);
    expect_same(first, expected.topRows(1), path + " after a rewind");
    reader->rewind();
  }
  expect_same(read_table(path).values, expected, path + " in memory");
}

inline Matrix<double> matrix(std::initializer_list<std::initializer_list<double>> rows) {
  Matrix<double> result(static_cast<Index>(rows.size()), static_cast<Index>(rows.begin()->size()));
  Index i = 0;
  for (const auto& row : rows) {
    Index j = 0;
    for (double value : row) result(i, j++) = value;
    ++i;
  }
  return result;
}

}  // namespace carmina::testing
