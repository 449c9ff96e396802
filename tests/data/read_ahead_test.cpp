// tests/data/read_ahead_test.cpp -- rows read by another thread are those read without one: values, places, errors.
#include <carmina/data/read_ahead.hpp>

#include "table_checks.hpp"

#include <random>

namespace carmina::testing {
namespace {

template <class T>
TableRows<T> table_of(const std::string& path, const std::string& targets = "1") {
  auto reader = open_table(path);
  auto roles = choose_columns(reader->columns(), targets, path);
  return TableRows<T>(std::move(reader), std::move(roles), false);
}

std::string numbered_csv(Index rows, Index bad = -1) {
  std::string text = "a,b,y\n";
  for (Index i = 0; i < rows; ++i) {
    text += i == bad ? format_text("{},wrong,{}\n", i, -i) : format_text("{},{},{}\n", i, i + 0.5, -i);
  }
  return text;
}

// What the next block of each is, in words: they must agree.
template <class T>
std::string words(RowSource<T>& rows, Index size) {
  try {
    const auto block = rows.next(size);
    std::string text = format_text("{} rows from {}", block.rows, block.first_row);
    for (Index i = 0; i < block.rows; ++i) {
      text += format_text("; {} {}", rows.place(i), block.targets()(i, 0));
      for (Index j = 0; j < block.dim_in; ++j) text += format_text(" {}", block.inputs()(i, j));
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

template <class T>
class ReadAheadOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ReadAheadOf, Reals);

TYPED_TEST(ReadAheadOf, GivesTheSameRowsInBlocksOfAnySize) {
  using T = TypeParam;
  TempDir dir;
  const auto csv = dir.file("f.csv", numbered_csv(200));
  write_table(dir.path("f.npy"), {}, Matrix<double>(read_table(csv).values));
  std::mt19937 random(1);
  for (const auto& path : {csv, dir.path("f.npy")}) {
    for (const Index largest : {1, 3, 50, 300}) {
      auto plain = table_of<T>(path);
      ReadAhead<T> ahead(table_of<T>(path));
      EXPECT_EQ(ahead.dim_in(), 2);
      EXPECT_EQ(ahead.dim_out(), 1);
      for (int pass = 0; pass < 3; ++pass) {
        // Some passes with one size, some with many; the second one is left in the middle.
        const bool one_size = largest > 3 && pass == 0;
        Index seen = 0;
        while (seen < 200 + largest && (pass != 1 || seen <= 100)) {
          const Index size = one_size ? largest : std::uniform_int_distribution<Index>(1, largest)(random);
          const std::string expected = words(plain, size);
          ASSERT_EQ(words(ahead, size), expected) << path << " by " << size;
          seen += size;
        }
        if (pass != 1) {
          EXPECT_EQ(ahead.rows(), 200);
        }
        plain.rewind();
        ahead.rewind();
      }
    }
  }
}

TYPED_TEST(ReadAheadOf, FailsWhereTheRowIsAskedFor) {
  using T = TypeParam;
  TempDir dir;
  std::mt19937 random(2);
  for (const Index bad : {1, 37, 99}) {
    const auto path = dir.file("f.csv", numbered_csv(100, bad));
    for (int trial = 0; trial < 20; ++trial) {
      ReadAhead<T> ahead(table_of<T>(path));
      for (int pass = 0; pass < 2; ++pass) {
        auto plain = table_of<T>(path);
        const Index fixed = std::uniform_int_distribution<Index>(1, 40)(random);
        for (Index seen = 0; seen <= bad;) {
          const Index size = trial % 2 == 0 ? fixed : std::uniform_int_distribution<Index>(1, 40)(random);
          const std::string expected = words(plain, size), found = words(ahead, size);
          ASSERT_EQ(found, expected);
          seen += size;
          if (seen > bad) {
            EXPECT_EQ(found, format_text("{}:{}: column 'b': expected a number, found 'wrong'", path, bad + 2));
            EXPECT_EQ(words(ahead, size), found) << "an error stays";
          }
        }
        ahead.rewind();
      }
    }
  }
}

TYPED_TEST(ReadAheadOf, StopsInTheMiddle) {
  using T = TypeParam;
  TempDir dir;
  const auto path = dir.file("f.csv", numbered_csv(20'000));
  for (const Index size : {1, 100, 15'000}) {
    ReadAhead<T> ahead(table_of<T>(path));
    for (int pass = 0; pass < 5; ++pass) {
      EXPECT_EQ(ahead.next(size).inputs()(0, 0), T(0));
      ahead.rewind();
    }
    EXPECT_EQ(ahead.next(size).rows, size);
  }  // the thread is reading now
  const ReadAhead<T> unused(table_of<T>(path));
}

// A block stays as it is while the next one is being read.
TYPED_TEST(ReadAheadOf, LeavesTheCallersBlockAlone) {
  using T = TypeParam;
  TempDir dir;
  const Index n = 50'000;
  const Matrix<double> values = Vector<double>::LinSpaced(2 * n, 0, 2 * n - 1).reshaped<Eigen::RowMajor>(n, 2);
  write_table(dir.path("f.npy"), {}, values);
  ReadAhead<T> ahead(table_of<T>(dir.path("f.npy")));
  for (Index at = 0; at < n; at += 5000) {
    const auto block = ahead.next(5000);
    ASSERT_EQ(block.rows, 5000);
    for (int look = 0; look < 20; ++look) {
      ASSERT_TRUE(block.inputs() == values.col(0).segment(at, 5000).template cast<T>());
      ASSERT_TRUE(block.targets() == values.col(1).segment(at, 5000).template cast<T>());
    }
  }
  EXPECT_EQ(ahead.next(5000).rows, 0);
}

TEST(ReadAhead, CountsItsMemory) {
  TempDir dir;
  const auto path = dir.file("f.csv", numbered_csv(10));
  const ReadAhead<float> ahead(table_of<float>(path));
  // Two buffers of three floats and a position, and cells of three doubles.
  EXPECT_EQ(ahead.held_bytes(1000), 1000 * (2 * (3 * 4 + 8) + 3 * 8));
  EXPECT_LT(ahead.held_bytes(1'000'000), 1'000'000 * (2 * (3 * 4 + 8) + 1));
}

}  // namespace carmina::testing
