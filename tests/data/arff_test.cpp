// tests/data/arff_test.cpp -- ARFF files: numeric and nominal columns, dense and sparse rows, and what is wrong
// with some.
#include "table_checks.hpp"

namespace carmina::testing {

using ::testing::ElementsAre;

namespace {

const std::string good =
    "% a comment\n@RELATION 'a name'\n\n@attribute speed NUMERIC % with a comment\n@Attribute 'the colour' "
    "{red, 'dark "
    "blue',\"it's\"}\n@ATTRIBUTE\tsize\tReal\n@attribute n integer\n@data\n";

}  // namespace

TEST(Arff, ReadsNumericAndNominalColumns) {
  TempDir dir;
  const std::string rows =
      "1.5,red,2,3\n% between\n\n?, 'dark blue' ,?,-4 % behind\n 7 ,\"it's\", 8e2,? "
      "\r\n1,?,1,1\n2,'it\\'s',2,2\n";
  const Matrix<double> expected =
      matrix({{1.5, 0, 2, 3}, {nan, 1, nan, -4}, {7, 2, 800, nan}, {1, nan, 1, 1}, {2, 2, 2, 2}});
  for (const auto& path : {dir.file("a.arff", good + rows), dir.gzipped("a.ARFF.gz", good + rows)}) {
    expect_table(path, expected);
    const auto columns = open_table(path)->columns();
    EXPECT_THAT(names_of(columns), ElementsAre("speed", "the colour", "size", "n"));
    EXPECT_THAT(columns[1].categories, ElementsAre("red", "dark blue", "it's"));
    EXPECT_TRUE(columns[0].categories.empty());
  }
}

TEST(Arff, ReadsSparseRows) {
  TempDir dir;
  const auto path = dir.file("a.arff", good + "{0 2.5, 1 'dark blue'}\n{}\n{ 1 \"it's\" , 3 ? }\n1,red,1,1\n");
  expect_table(path, matrix({{2.5, 1, 0, 0}, {0, 0, 0, 0}, {0, 2, 0, nan}, {1, 0, 1, 1}}));
}

TEST(Arff, AQuestionMarkCanBeACategoryOnlyInQuotes) {
  TempDir dir;
  const auto path = dir.file("a.arff", "@attribute a {'?', b}\n@data\n'?'\nb\n");
  expect_table(path, matrix({{0}, {1}}));
}

TEST(Arff, MessagesNameFileLineAndColumn) {
  TempDir dir;
  const auto message = [&](const std::string& content) {
    const auto path = dir.file("a.arff", content);
    const std::string found = error_of_reading(path);
    EXPECT_EQ(found.substr(0, path.size()), path);
    return found.substr(std::min(found.size(), path.size()));
  };
  EXPECT_EQ(message(good + "1,green,2,3\n"),
            ":9: column 'the colour': 'green' is not one of its categories (red, dark blue, it's)");
  EXPECT_EQ(message(good + "1,red,2,3\nx,red,2,3\n"), ":10: column 'speed': expected a number, found 'x'");
  EXPECT_EQ(message(good + "1,red,2,inf\n"), ":9: column 'n': expected a finite number, found 'inf'");
  EXPECT_EQ(message(good + "1,red,2\n"), ":9: expected 4 cells, found 3");
  EXPECT_EQ(message(good + "1,'red',2,3,4\n"), ":9: expected 4 cells, found 5");
  EXPECT_EQ(message(good + "1,'red,2,3\n"), ":9: a quote is opened and never closed");
  EXPECT_EQ(message(good + "1,'red' dark,2,3\n"), ":9: unexpected 'dark,2,3' after a cell");
  EXPECT_EQ(message(good + "{4 1}\n"), ":9: expected the number of a column from 0 to 3, found '4'");
  EXPECT_EQ(message(good + "{x 1}\n"), ":9: expected the number of a column from 0 to 3, found 'x'");
  EXPECT_EQ(message(good + "{2 1, 0 1}\n"), ":9: columns of a sparse row must increase, found 0 after 2");
  EXPECT_EQ(message(good + "{0 1, 2 1\n"), ":9: a sparse row is not closed by '}'");
  EXPECT_EQ(message(good + "{0 1,"), ":9: expected the number of a column from 0 to 3, found ''");
  EXPECT_EQ(message(good + "{0 1} 5\n"), ":9: unexpected '5' after a sparse row");
  EXPECT_EQ(message(good), ": there are no rows after @data");
  EXPECT_EQ(message("@relation r\n@attribute a numeric\n"), ": the header has no @data line");
  EXPECT_EQ(message("@relation r\n@attribute a numeric\n1\n2\n"),
            ":3: expected @relation, @attribute or @data, found '1'");
  EXPECT_EQ(message("@relation r\n@data\n1\n"), ":2: @data comes before any @attribute");
  EXPECT_EQ(message("@attribute a string\n@data\n"),
            ":1: column 'a': the type 'string' is not supported (numeric, real, integer and {a, b, ...} are)");
  EXPECT_EQ(message("@attribute a date 'yyyy'\n@data\n"),
            ":1: column 'a': the type 'date' is not supported (numeric, real, integer and {a, b, ...} are)");
  EXPECT_EQ(message("@attribute a\n@data\n"),
            ":1: column 'a': the type '' is not supported (numeric, real, integer and {a, b, ...} are)");
  EXPECT_EQ(message("@attribute\n@data\n"), ":1: expected @attribute NAME TYPE");
  EXPECT_EQ(message("@attribute 'a numeric\n@data\n"), ":1: expected @attribute NAME TYPE");
  EXPECT_EQ(message("@attribute a {x,y\n@data\n"), ":1: column 'a': the list of categories is not closed");
  EXPECT_EQ(message("@attribute a {x,,y}\n@data\n"), ":1: column 'a': a category is empty");
  EXPECT_EQ(message("@attribute a {x,x}\n@data\n"), ":1: column 'a': the category 'x' appears twice");
  EXPECT_EQ(message("@attribute a numeric 5\n@data\n"), ":1: column 'a': unexpected '5' after the type");
  EXPECT_EQ(message("@attribute a real\n@attribute a real\n@data\n1,2\n"), ": two columns are named 'a'");
  EXPECT_EQ(message("x,y\n1,2\n"), ":1: expected @relation, @attribute or @data, found 'x,y'");
  EXPECT_EQ(message(good + std::string("1,r\0d,2,3\n", 10)), ":9: a NUL byte, where text was expected");
  EXPECT_EQ(message(""), ": the file is empty");
}

}  // namespace carmina::testing
