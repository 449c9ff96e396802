// tests/data/csv_test.cpp -- CSV files, good and bad, against the values they were written from.
#include <cstdio>
#include <random>

#include "table_checks.hpp"

namespace carmina::testing {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Csv, ReadsAHeaderAndNumbers) {
  TempDir dir;
  const auto path = dir.file("a.csv", "x,y,z\n1,2,3\n-4.5,+5e-3, 6 \n");
  expect_table(path, matrix({{1, 2, 3}, {-4.5, 5e-3, 6}}));
  EXPECT_THAT(names_of(open_table(path)->columns()), ElementsAre("x", "y", "z"));
}

TEST(Csv, NamesColumnsWithoutAHeader) {
  TempDir dir;
  const auto path = dir.file("a.csv", "1,2\n3,4");
  expect_table(path, matrix({{1, 2}, {3, 4}}));
  EXPECT_THAT(names_of(open_table(path)->columns()), ElementsAre("c1", "c2"));
}

TEST(Csv, AFirstRowOfNumbersAndMissingCellsIsNoHeader) {
  TempDir dir;
  expect_table(dir.file("a.csv", "NA,2,\n3,4,5\n"), matrix({{nan, 2, nan}, {3, 4, 5}}));
}

TEST(Csv, AnUnnamedColumnOfAHeaderGetsItsNumber) {
  TempDir dir;
  EXPECT_THAT(names_of(open_table(dir.file("a.csv", ",y\n1,2\n"))->columns()), ElementsAre("c1", "y"));
}

TEST(Csv, ReadsEveryMissingMarker) {
  TempDir dir;
  const auto path = dir.file("a.csv", "a,b,c,d,e,f,g,h\n,NA,na,NaN,nan,?,null,NULL\n 1,\t,3,4,5,6,7,-nan\n");
  expect_table(path, matrix({{nan, nan, nan, nan, nan, nan, nan, nan}, {1, nan, 3, 4, 5, 6, 7, nan}}));
}

TEST(Csv, DetectsSemicolonsAndTabs) {
  TempDir dir;
  const Matrix<double> expected = matrix({{1, 2}, {nan, nan}, {3, 4}});
  expect_table(dir.file("semicolon.csv", "a;b\n1;2\n;\n3;4\n"), expected);
  expect_table(dir.file("tab.csv", "a\tb\n1\t2\n\t\n3\t4\n"), expected);
  expect_table(dir.file("quoted.csv", "\"a,b\";c\n1;2\n;\n3;4\n"), expected);
}

TEST(Csv, ReadsQuotedCells) {
  TempDir dir;
  const auto path = dir.file("a.csv", "\"speed, m/s\",\"say \"\"x\"\"\",\"two\nlines\"\n\"1.5\",2,\"\"\n");
  expect_table(path, matrix({{1.5, 2, nan}}));
  EXPECT_THAT(names_of(open_table(path)->columns()), ElementsAre("speed, m/s", "say \"x\"", "two\nlines"));
}

TEST(Csv, CountsLinesInsideQuotes) {
  TempDir dir;
  const auto path = dir.file("a.csv", "\"two\nlines\",b\n1,2\n3,x\n");
  EXPECT_EQ(error_of_reading(path), path + ":4: column 'b': expected a number, found 'x'");
}

TEST(Csv, TakesEitherLineEndingAByteOrderMarkAndBlankLines) {
  TempDir dir;
  expect_table(dir.file("a.csv", "\xEF\xBB\xBF\r\nx,y\r\n\r\n1,2\r\n  \r\n3,4\r\n\r\n"), matrix({{1, 2}, {3, 4}}));
  EXPECT_EQ(open_table(dir.file("b.csv", "\xEF\xBB\xBFx,y\n1,2"))->columns()[0].name, "x");
}

TEST(Csv, ReadsOneColumnAndOneRow) {
  TempDir dir;
  expect_table(dir.file("column.csv", "y\n1\nNA\n3\n"), matrix({{1}, {nan}, {3}}));
  expect_table(dir.file("cell.csv", "7"), matrix({{7}}));
}

TEST(Csv, NumbersOutsideTheRangeOfDoubles) {
  TempDir dir;
  expect_table(dir.file("a.csv", "1e-400,5e-324,0.0e5\n"), matrix({{0, 5e-324, 0}}));
  expect_table(dir.file("g.csv", "1e-9223372036854775807,0.1e-9223372036854775807\n"), matrix({{0, 0}}));
  const auto path = dir.file("b.csv", "x\n1e400\n");
  EXPECT_EQ(error_of_reading(path), path + ":2: column 'x': the number '1e400' is too large");
  // The sign of the exponent does not tell.
  const std::string zeros(330, '0');
  expect_table(dir.file("c.csv", "0." + zeros + "1e+5\n0e999999999999999999999999\n"), matrix({{0}, {0}}));
  EXPECT_THAT(error_of_reading(dir.file("d.csv", "1" + zeros + "e-5\n")), HasSubstr("is too large"));
  EXPECT_THAT(error_of_reading(dir.file("e.csv", "1e999999999999999999999999\n")), HasSubstr("is too large"));
  EXPECT_THAT(error_of_reading(dir.file("f.csv", "10e9223372036854775807\n")), HasSubstr("is too large"));
}

TEST(Csv, MessagesNameFileLineAndColumn) {
  TempDir dir;
  const auto message = [&](const std::string& content) {
    const auto path = dir.file("a.csv", content);
    const std::string found = error_of_reading(path);
    EXPECT_THAT(found, HasSubstr(path));
    return found.substr(std::min(found.size(), path.size()));
  };
  EXPECT_EQ(message("x,speed\n1,2\n3,abc\n"), ":3: column 'speed': expected a number, found 'abc'");
  EXPECT_EQ(message("x,speed\n1,2\n\n3,\"a\"\"b\"\n"), ":4: column 'speed': expected a number, found 'a\"b'");
  EXPECT_EQ(message("x,y\n1,0x1F\n"), ":2: column 'y': expected a number, found '0x1F'");
  EXPECT_EQ(message("x,y\n1,1 2\n"), ":2: column 'y': expected a number, found '1 2'");
  EXPECT_EQ(message("x,y\n1,2\n3,inf\n"), ":3: column 'y': expected a finite number, found 'inf'");
  EXPECT_EQ(message("1,2\n-Infinity,3\n"), ":2: column 'c1': expected a finite number, found '-Infinity'");
  EXPECT_EQ(message("inf,2\n1,3\n"), ":1: column 'c1': expected a finite number, found 'inf'");
  EXPECT_EQ(message("a,b,c\n1,2,3\n1,2\n"), ":3: expected 3 cells, found 2");
  EXPECT_EQ(message("a,b,c\n1,2,3\n1,2,3,4\n"), ":3: expected 3 cells, found 4");
  EXPECT_EQ(message("a,b,c\n1,2,3\n\"1\",2\n"), ":3: expected 3 cells, found 2");
  EXPECT_EQ(message(""), ": the file is empty");
  EXPECT_EQ(message("\n \n"), ": the file is empty");
  EXPECT_EQ(message("x,y\n"), ": the file has a header but no rows");
  EXPECT_EQ(message("x,y"), ": the file has a header but no rows");
  EXPECT_EQ(message("x,y,x\n1,2,3\n"), ":1: two columns are named 'x'");
  EXPECT_EQ(message(std::string("x,y\n1,2\n3,\0\n", 12)), ":3: a NUL byte, where text was expected");
  EXPECT_EQ(message("x,y\n1,2\n\"3,4\n5,6\n"), ":3: a quote is opened and never closed");
}

TEST(Csv, ALongCellIsShortenedInTheMessage) {
  TempDir dir;
  const auto path = dir.file("a.csv", "x\n" + std::string(1000, 'a') + "\n");
  EXPECT_EQ(error_of_reading(path),
            path + ":2: column 'x': expected a number, found '" + std::string(40, 'a') + "...'");
}

TEST(Csv, AMessageIsOneLineOfUtf8WhateverTheFileHolds) {
  TempDir dir;
  const auto path = dir.file("a.csv", "\"two\nlines \xC3\xBC\"\nx\xFF\x01\xC3\xBC\n");
  EXPECT_EQ(error_of_reading(path), path + ":3: column 'two lines \xC3\xBC': expected a number, found 'x? \xC3\xBC'");
  const auto latin = dir.file("b.csv",
                              "x,Gr\xF6\xDF"
                              "e\n1,2\n");
  EXPECT_EQ(error_of_reading(latin),
            latin + ":1: the name of column 2 ('Gr??e'), or a category of it, is not UTF-8 text");
  for (const char* wrong : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8", "\xC3", "\x80"}) {
    EXPECT_THAT(error_of_reading(dir.file("c.csv", std::string("x") + wrong + "\n1\n")),
                HasSubstr("is not UTF-8 text"));
  }
  for (const char* right : {"\xC2\x80", "\xE0\xA0\x80", "\xEF\xBF\xBF", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(open_table(dir.file("c.csv", std::string("x") + right + "\n1\n"))->columns()[0].name,
              std::string("x") + right);
  }
}

TEST(Csv, PlaceGivesTheLineOfEachRowOfTheBlock) {
  TempDir dir;
  const auto path = dir.file("a.csv", "x\n\n1\n2\n\n3\n");
  const auto reader = open_table(path);
  Matrix<double> block(2, 1);
  reader->read(block);
  EXPECT_EQ(reader->place(0), path + ":3");
  EXPECT_EQ(reader->place(1), path + ":4");
  reader->read(block);
  EXPECT_EQ(reader->place(0), path + ":6");
}

// printf with 17 digits is exact: the reader must give back every bit.
TEST(Csv, GivesBackTwoHundredThousandRandomNumbersAndTheirGaps) {
  TempDir dir;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> mantissa(-10, 10), exponent(-250, 250);
  Matrix<double> expected(10'000, 20);
  std::string text;
  char cell[40];
  for (Index i = 0; i < expected.rows(); ++i) {
    for (Index j = 0; j < expected.cols(); ++j) {
      const bool missing = random() % 50 == 0;
      expected(i, j) = missing ? nan : mantissa(random) * std::pow(10, exponent(random));
      std::snprintf(cell, sizeof cell, "%.17g", expected(i, j));
      text += (j == 0 ? "" : ",") + std::string(missing ? "" : cell);
    }
    text += i % 3 == 0 ? "\r\n" : "\n";
  }
  expect_same(read_table(dir.file("a.csv", text)).values, expected);
  expect_same(read_table(dir.gzipped("a.csv.gz", text)).values, expected);
}

TEST(Csv, ALineMayBeLongerThanAnyBuffer) {
  TempDir dir;
  const Index columns = 200'000;
  std::string text;
  for (Index j = 0; j < columns; ++j) text += (j == 0 ? "" : ",") + std::to_string(j);
  const Matrix<double> expected = Vector<double>::LinSpaced(columns, 0, columns - 1).transpose();
  EXPECT_TRUE(read_table(dir.file("a.csv", text)).values == expected);
}

}  // namespace carmina::testing
