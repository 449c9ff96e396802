// tests/data/libsvm_test.cpp -- LIBSVM files: what is not written is zero, and the label is the last column.
#include "table_checks.hpp"

namespace carmina::testing {

using ::testing::ElementsAre;

TEST(Libsvm, ReadsSparseRowsWithTheLabelLast) {
  TempDir dir;
  const std::string text = "# a comment\n+1 1:0.5 3:-2 # behind\n\n-1\n2.5\t2:1e3   4:nan \r\n0 1:1";
  const Matrix<double> expected =
      matrix({{0.5, 0, -2, 0, 1}, {0, 0, 0, 0, -1}, {0, 1000, 0, nan, 2.5}, {1, 0, 0, 0, 0}});
  for (const auto& path : {dir.file("a.libsvm", text), dir.file("a.svm", text), dir.file("a.svmlight", text),
                           dir.gzipped("a.libsvm.gz", text)}) {
    expect_table(path, expected);
    EXPECT_THAT(names_of(open_table(path)->columns()), ElementsAre("c1", "c2", "c3", "c4", "target"));
    EXPECT_EQ(open_table(path)->rows(), 4);
  }
}

TEST(Libsvm, AModelsNumberOfFeaturesAddsZeroColumns) {
  TempDir dir;
  const auto reader = open_table(dir.file("a.svm", "1 1:5\n2 2:6\n"), 3);
  expect_same(read_in_blocks(*reader, 5), matrix({{5, 0, 0, 1}, {0, 6, 0, 2}}));
  EXPECT_EQ(open_table(dir.path("a.svm"), 1)->columns().size(), 3u) << "fewer than the file has changes nothing";
}

TEST(Libsvm, MessagesNameFileLineAndColumn) {
  TempDir dir;
  const auto message = [&](const std::string& content) {
    const auto path = dir.file("a.svm", content);
    const std::string found = error_of_reading(path);
    EXPECT_EQ(found.substr(0, path.size()), path);
    return found.substr(std::min(found.size(), path.size()));
  };
  EXPECT_EQ(message("1 1:2\n1 0:2\n"), ":2: indices start at 1, found 0");
  EXPECT_EQ(message("1 2:2 2:3\n"), ":1: indices must increase, found 2 after 2");
  EXPECT_EQ(message("1 3:2 2:3\n"), ":1: indices must increase, found 2 after 3");
  EXPECT_EQ(message("1 a:2\n"), ":1: expected the index of a feature, found 'a'");
  EXPECT_EQ(message("1 -1:2\n"), ":1: indices start at 1, found -1");
  EXPECT_EQ(message("1 1:2\n1 1:x\n"), ":2: column 'c1': expected a number, found 'x'");
  EXPECT_EQ(message("1 1:inf\n"), ":1: column 'c1': expected a finite number, found 'inf'");
  EXPECT_EQ(message("1 1:\n"), ":1: expected index:value, found '1:'");
  EXPECT_EQ(message("1 5\n"), ":1: expected index:value, found '5'");
  EXPECT_EQ(message("1,2 1:5\n"), ":1: column 'target': expected a number, found '1,2'");
  EXPECT_EQ(message("1 qid:3 1:5\n"), ":1: 'qid' (ranking data) is not supported");
  EXPECT_EQ(message("1 1:5\n1 2000000000:5\n"), ": 2000000001 columns, more than the 10000000 that a table may have");
  EXPECT_EQ(message("1 99999999999999999999:5\n"), ":1: expected the index of a feature, found '99999999999999999999'");
  EXPECT_EQ(message("1\n2\n"), ": no row has a feature");
  EXPECT_EQ(message("# nothing\n"), ": the file has no rows");
  EXPECT_EQ(message(std::string("1 1:\0\n", 6)), ":1: a NUL byte, where text was expected");
  EXPECT_EQ(message(""), ": the file is empty");
}

}  // namespace carmina::testing
