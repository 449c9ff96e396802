// tests/data/joined_tables_test.cpp -- files as one table: their order, places of cells, and some rows of them.
#include "data/joined_tables.hpp"
#include "data/joined_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/message_of.hpp"
#include "support/random_matrix.hpp"
#include "support/temp_dir.hpp"

namespace carmina::joined_tables_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_matrix;
using testing::TempDir;

std::vector<std::string> names_of(const TempDir& dir, const std::string& pattern) {
  std::vector<std::string> names;
  for (const std::string& file : files_of(dir.path(pattern))) names.push_back(file.substr(file.rfind('/') + 1));
  return names;
}

TEST(JoinedTables, FilesAreInTheOrderOfTheirNumbers) {
  const TempDir dir;
  for (const char* name : {"p10.csv", "p2.csv", "p1.csv", "p02b.csv", "q.csv", "p[1].csv"}) dir.file(name, "1,2\n");
  EXPECT_THAT(names_of(dir, "p*.csv"), ElementsAre("p1.csv", "p2.csv", "p02b.csv", "p10.csv", "p[1].csv"));
  EXPECT_THAT(names_of(dir, "p[12].csv"), ElementsAre("p1.csv", "p2.csv"));
  EXPECT_THAT(names_of(dir, "p[1].csv"), ElementsAre("p[1].csv"));  // a file of that very name
  EXPECT_THAT(names_of(dir, "none.csv"), ElementsAre("none.csv"));  // for who opens it to complain of
  EXPECT_THAT(message_of([&] { files_of(dir.path("none*.csv")); }), HasSubstr("there is no file of such a name"));
}

class JoinedTablesOf : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Formats, JoinedTablesOf, ::testing::Values(".npy", ".csv", ".csv.gz"));

TEST_P(JoinedTablesOf, AreOneTableInAnyBlocks) {
  const TempDir dir;
  const Matrix<double> all = random_matrix(700, 3, 1);
  const std::vector<Index> lengths = {1, 300, 2, 397};
  std::vector<std::string> paths;
  Index first = 0;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    paths.push_back(dir.path("part" + std::to_string(k) + GetParam()));
    write_table(paths.back(), {"a", "b", "c"}, all.middleRows(first, lengths[k]));
    first += lengths[k];
  }
  for (const Index at_once : {1, 7, 299, 1000}) {
    for (const auto& [begin, count] :
         {std::pair<Index, Index>(0, 700), {0, 0}, {1, 300}, {302, 398}, {150, 500}, {699, 1}}) {
      const auto table = some_rows(open_tables(paths), begin, count);
      EXPECT_EQ(table->rows(), count);
      for (int pass = 0; pass < 2; ++pass, table->rewind()) {
        Matrix<double> block(at_once, 3);
        Index at = 0;
        for (Index found = at_once; found == at_once; at += found) {
          found = table->read(block);
          EXPECT_EQ(block.topRows(found), all.middleRows(begin + at, found));
          if (found > 0) {
            // The file that the last row is in.
            Index row = begin + at + found - 1;
            std::size_t k = 0;
            while (row >= lengths[k]) row -= lengths[k++];
            EXPECT_THAT(table->place(found - 1), HasSubstr(paths[k]));
          }
        }
        EXPECT_EQ(at, count);
      }
    }
  }
}

TEST(JoinedTables, ColumnsMustBeTheSame) {
  const TempDir dir;
  const std::string one = dir.file("1.csv", "a,b\n1,2\n"), two = dir.file("2.csv", "a,c\n1,2\n"),
                    three = dir.file("3.csv", "a\n1\n");
  EXPECT_THAT(message_of([&] { open_tables({one, two}); }), HasSubstr("2.csv: column 2 is 'c', expected 'b'"));
  EXPECT_THAT(message_of([&] { open_tables({one, three}); }), HasSubstr("3.csv: expected 2 columns"));
}

// Rows of sources, as a fit sees them.
TEST(JoinedRows, BlocksAreFull) {
  const Matrix<double> X = random_matrix(50, 2, 1), Y = random_matrix(50, 1, 2);
  const Vector<double> w = Vector<double>::Constant(50, 2);
  MemoryRows<double> one(X.topRows(3), Y.topRows(3)), none(X.topRows(0), Y.topRows(0)),
      two(X.bottomRows(47), Y.bottomRows(47), w.data() + 3);
  for (const Index at_once : {1, 4, 10, 100}) {
    for (const Index skipped : {0, 2, 3, 20}) {
      JoinedRows<double> rows({&one, &none, &two}, skipped, 50 - skipped);
      for (int pass = 0; pass < 2; ++pass) {
        rows.rewind();
        Index at = 0;
        for (auto block = rows.next(at_once); block.rows > 0; block = rows.next(at_once)) {
          EXPECT_EQ(block.first_row, at);
          EXPECT_EQ(block.rows, std::min(at_once, 50 - skipped - at));
          for (Index i = 0; i < block.rows; ++i) {
            const Index row = skipped + at + i;
            EXPECT_EQ(block.inputs().row(i), X.row(row));
            EXPECT_EQ(block.targets().row(i), Y.row(row));
            EXPECT_EQ(block.weights ? block.weights[i] : 1, row < 3 ? 1 : 2);
            const Index of_source = row < 3 ? row : row - 3;
            EXPECT_EQ(rows.place(i), "row " + std::to_string(of_source + 1)) << row << " " << at_once;
          }
          at += block.rows;
        }
        EXPECT_EQ(at, 50 - skipped);
      }
    }
  }
}

}  // namespace
}  // namespace carmina::joined_tables_test
