// tests/data/table_encoder_test.cpp -- columns of text, truth values and dates as numbers, against numbers by hand.
#include <carmina/data/input_encoder.hpp>
#include <carmina/models/model_inputs.hpp>

#include <cmath>
#include <ctime>
#include <random>

#include <support/message_of.hpp>

#include "table_checks.hpp"

namespace carmina::testing::table_encoder_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

InputEncoder of_colours(UnseenLevel unseen = UnseenLevel::error) {
  return InputEncoder({{"x"}, {"colour", ColumnKind::category, {"blue", "red"}}, {"day", ColumnKind::date}}, unseen,
                      DateUnit::days);
}

// The inputs of a table as a fit would read them: with an encoder of their own.
Matrix<double> encoded(const std::string& path, const std::vector<Index>& inputs, const EncodingOptions& options,
                       std::vector<std::string>* names = nullptr) {
  auto table = open_table(path);
  ColumnRoles roles{inputs, {}};
  const auto encoder = encoder_of(*table, inputs, options);
  table = encoded_table(std::move(table), roles, encoder);
  if (names) *names = names_of(table->columns());
  Matrix<double> rows(100, static_cast<Index>(table->columns().size()));
  const Index count = table->read(rows);
  return rows.topRows(count);
}

}  // namespace

TEST(Dates, AreThoseOfTheCalendar) {
  EXPECT_EQ(parse_date("1970-01-01")->seconds, 0);
  EXPECT_EQ(parse_date("2000-02-29")->seconds, 951782400);
  EXPECT_EQ(parse_date("1969-12-31T23:59:59Z")->seconds, -1);
  EXPECT_EQ(parse_date(" 2024-05-31 12:30 ")->seconds, 1717158600);
  EXPECT_EQ(parse_date("2024-05-31T14:30:00+02:00")->seconds, 1717158600);
  EXPECT_EQ(parse_date("2024-05-31T07:00:00-0530")->seconds, 1717158600);
  EXPECT_EQ(parse_date("2024-05-31T12:30:15.25")->fraction, 0.25);
  EXPECT_EQ(parse_date("2024-05")->seconds, parse_date("2024-05-01")->seconds);
  EXPECT_FALSE(parse_date("2024-13"));
  EXPECT_FALSE(parse_date("2024-"));
  EXPECT_DOUBLE_EQ(parse_date("1970-01-02 12:00")->in(DateUnit::days), 1.5);
  EXPECT_DOUBLE_EQ(parse_date("1970-01-01 00:00:01.5")->in(DateUnit::seconds), 1.5);
}

TEST(Dates, AgreeWithTheSystemsForManyDays) {
  std::mt19937_64 random(0);
  for (int k = 0; k < 2000; ++k) {
    const auto seconds = static_cast<std::time_t>(std::uniform_int_distribution<long long>(-62e9, 2e11)(random));
    std::tm parts{};
    ASSERT_NE(::gmtime_r(&seconds, &parts), nullptr);
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d", parts.tm_year + 1900, parts.tm_mon + 1,
                  parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    if (parts.tm_year + 1900 < 0 || parts.tm_year + 1900 > 9999) continue;
    const auto at = parse_date(text);
    ASSERT_TRUE(at.has_value()) << text;
    EXPECT_EQ(at->seconds, seconds) << text;
  }
}

TEST(Dates, OthersAreRefused) {
  for (const char* text : {"", "2024", "2024-13-01", "2023-02-29", "2024-00-10", "2024-01-01x", "2024-01-01T24:00",
                           "2024-01-01T10", "24-01-01", "2024/01/01", "2024-01-01T10:00:00.", "2024-01-01T10:00+25:00",
                           "2024-01-01T10:00Zz", "1900-02-29", "2024-01-01T10:00:00.1234567890"}) {
    EXPECT_FALSE(parse_date(text).has_value()) << text;
  }
}

TEST(InputEncoder, GivesAColumnForEachLevel) {
  const InputEncoder encoder = of_colours();
  EXPECT_EQ(encoder.dim_in(), 4);
  EXPECT_EQ(encoder.first(2), 3);
  EXPECT_THAT(encoder.encoded_names(), ElementsAre("x", "colour=blue", "colour=red", "day"));
  EXPECT_THAT(encoder.input_names(), ElementsAre("x", "colour", "day"));
  EXPECT_EQ(encoder.level(1, " red ", ""), 1);
  EXPECT_EQ(message_of([&] { encoder.level(1, "mauve", "a.csv:3"); }),
            "a.csv:3: column 'colour': 'mauve' is not one of the 2 levels of the training rows (blue, red); --unseen "
            "zeros (unseen='zeros') fits a model that takes others");
  EXPECT_EQ(of_colours(UnseenLevel::zeros).level(1, "mauve", ""), std::nullopt);
  double to[2];
  encoder.put_level(1, Index{1}, to);
  EXPECT_THAT(to, ElementsAre(0, 1));
  encoder.put_level(1, std::nullopt, to);
  EXPECT_THAT(to, ElementsAre(0, 0));
  encoder.put_missing(1, to);
  EXPECT_TRUE(std::isnan(to[0]) && std::isnan(to[1]));
}

TEST(InputEncoder, LevelsAreSortedAndTruthValuesAreWrittenOneWay) {
  EXPECT_THAT(settled_levels({"b", "a", "C", "b"}, ""), ElementsAre("C", "a", "b"));
  EXPECT_THAT(settled_levels({"True", "false", "TRUE"}, ""), ElementsAre("false", "true"));
  EXPECT_THAT(settled_levels({"True", "maybe"}, ""), ElementsAre("True", "maybe"));
  EXPECT_THAT(message_of([] { settled_levels({}, "a.csv"); }), HasSubstr("every cell is missing"));
  std::vector<std::string> many;
  for (int k = 0; k <= static_cast<int>(most_levels); ++k) many.push_back(std::to_string(k));
  EXPECT_THAT(message_of([&] { settled_levels(many, "a.csv: column 'id'"); }),
              HasSubstr("a.csv: column 'id': text with more than 1000 different values"));
  EXPECT_THAT(message_of([] { settled_levels({"\xff"}, ""); }), HasSubstr("not UTF-8"));
}

TEST(InputEncoder, IsInTheModelFile) {
  ModelFile file;
  EXPECT_EQ(get_encoder(file, 4, "m"), nullptr);
  const InputEncoder encoder = of_colours(UnseenLevel::zeros);
  put_encoder(file, encoder);
  EXPECT_EQ(*get_encoder(file, 4, "m"), encoder);
  EXPECT_THAT(message_of([&] { get_encoder(file, 5, "m.safetensors"); }),
              HasSubstr("m.safetensors: the description of the inputs is not valid: they give 4 numbers"));
  for (const char* text : {"", "[]", "{}", R"({"columns":[],"unseen":"error","dates":"days"})",
                           R"({"columns":[{"name":"x","kind":"category"}],"unseen":"error","dates":"days"})",
                           R"({"columns":[{"name":"x","kind":"word"}],"unseen":"error","dates":"days"})",
                           R"({"columns":[{"name":"x","kind":"number"}],"unseen":"maybe","dates":"days"})"}) {
    file.texts["inputs"] = text;
    EXPECT_THAT(message_of([&] { get_encoder(file, 1, "m"); }), HasSubstr("not valid")) << text;
  }
}

TEST(EncodedTable, ReadsTextTruthValuesAndDates) {
  TempDir dir;
  const auto path = dir.file("a.csv",
                             "x,colour,on,day,y\n1,red,True,1970-01-02,5\n2,\"blue\",False,1970-01-01T12:00,6\n"
                             ",,,,7\n4,red,true,1970-01-03,8\n");
  std::vector<std::string> names;
  EncodingOptions options;
  options.dates = DateUnit::days;
  const Matrix<double> rows = encoded(path, {0, 1, 2, 3}, options, &names);
  EXPECT_THAT(names, ElementsAre("x", "colour=blue", "colour=red", "on=false", "on=true", "day"));
  expect_same(rows,
              matrix({{1, 0, 1, 0, 1, 1}, {2, 1, 0, 1, 0, 0.5}, {nan, nan, nan, nan, nan, nan}, {4, 0, 1, 0, 1, 2}}));
}

TEST(EncodedTable, CategoriesOfArffAreFoundByTheirText) {
  TempDir dir;
  const char* header = "@relation a\n@attribute x numeric\n@attribute c {%s}\n@data\n";
  char text[200];
  std::snprintf(text, sizeof text, header, "red,blue");
  const auto path = dir.file("a.arff", std::string(text) + "1,red\n2,blue\n3,?\n");
  expect_same(encoded(path, {0, 1}, {}), matrix({{1, 0, 1}, {2, 1, 0}, {3, nan, nan}}));
  EncodingOptions numbers;
  numbers.categories = false;
  expect_same(encoded(path, {0, 1}, numbers), matrix({{1, 0}, {2, 1}, {3, nan}}));
  // The same levels in another order, and one more.
  std::snprintf(text, sizeof text, header, "green,blue,red");
  const auto other = dir.file("b.arff", std::string(text) + "1,red\n2,green\n");
  auto first = open_table(path);
  const auto encoder = encoder_of(*first, {0, 1}, {});
  ColumnRoles roles{{0, 1}, {}};
  const auto table = encoded_table(open_table(other), roles, encoder);
  Matrix<double> rows(1, 3);
  ASSERT_EQ(table->read(rows), 1);
  expect_same(rows, matrix({{1, 0, 1}}));
  EXPECT_THAT(message_of([&] { table->read(rows); }), HasSubstr("b.arff:6: column 'c': 'green' is not one of"));
}

TEST(EncodedTable, NumbersStayAsTheyAre) {
  TempDir dir;
  const auto path = dir.file("a.csv", "x,z\n1,2\n");
  auto table = open_table(path);
  EXPECT_EQ(encoder_of(*table, {0, 1}, {}), nullptr);
  expect_table(path, matrix({{1, 2}}));
}

TEST(EncodedTable, CellsWithoutARoleAreNotRead) {
  TempDir dir;
  const auto path = dir.file("a.csv", "x,note,y\n1,hello,2\n3,inf,4\n");
  ColumnRoles roles{{0}, {2}};
  TableRows<double> rows(encoded_table(open_table(path), roles, nullptr), roles, false);
  const RowBlock<double> block = rows.next(10);
  expect_same(Matrix<double>(block.inputs()), matrix({{1}, {3}}));
  expect_same(Matrix<double>(block.targets()), matrix({{2}, {4}}));
}

TEST(EncodedTable, SaysWhereACellIsWrong) {
  TempDir dir;
  EncodingOptions options;
  const auto dates = dir.file("d.csv", "x,day\n1,2024-01-01\n2,2024-01-02\n");
  EXPECT_THAT(message_of([&] { encoded(dates, {0, 1}, options); }),
              HasSubstr("d.csv: column 'day': the cells are dates; take them as numbers with --dates days"));
  const auto text = dir.file("t.csv", "x,c\n1,red\n");
  options.categories = false;
  EXPECT_THAT(message_of([&] { encoded(text, {0, 1}, options); }),
              HasSubstr("t.csv:2: column 'c': expected a number, found 'red'"));
  std::string late = "x,day\n";
  for (int k = 0; k < 1200; ++k) late += "1,2024-01-01\n";
  options.dates = DateUnit::days;
  auto table = open_table(dir.file("l.csv", late + "1,soon\n"));
  ColumnRoles roles{{0, 1}, {}};
  const auto encoder = encoder_of(*table, {0, 1}, options);
  table = encoded_table(std::move(table), roles, encoder);
  Matrix<double> rows(2000, 2);
  EXPECT_THAT(message_of([&] { table->read(rows); }),
              HasSubstr("l.csv:1202: column 'day': expected a date such as 2024-05-31 or 2024-05-31T12:30:00"));
}

// Any table of text, in any blocks, gives the numbers of a slow encoder.
TEST(EncodedTable, EqualsASlowEncoderInAnyBlocks) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const int n = 1 + static_cast<int>(random() % 40);
    std::vector<std::string> colours = {"a", "b b", "c,c", "d\"d", "\xC3\xA9"};
    std::string csv = "c,x\n";
    std::vector<std::string> cells;
    for (int i = 0; i < n; ++i) {
      const auto& colour = colours[random() % colours.size()];
      const bool missing = random() % 5 == 0;
      cells.push_back(missing ? "" : colour);
      std::string quoted = "\"";
      for (const char c : cells.back()) quoted += c == '"' ? "\"\"" : std::string(1, c);
      csv += quoted + "\"," + std::to_string(i) + "\n";
    }
    if (std::count(cells.begin(), cells.end(), "") == n) continue;
    std::vector<std::string> levels;
    for (const auto& cell : cells) {
      if (!cell.empty()) levels.push_back(cell);
    }
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    TempDir dir;
    auto table = open_table(dir.file("a.csv", csv));
    ColumnRoles roles{{0, 1}, {}};
    const auto encoder = encoder_of(*table, roles.inputs, {});
    table = encoded_table(std::move(table), roles, encoder);
    const auto width = static_cast<Index>(levels.size()) + 1;
    ASSERT_EQ(static_cast<Index>(table->columns().size()), width);
    for (int pass = 0; pass < 2; ++pass) {
      for (Index done = 0; done < n;) {
        Matrix<double> block(1 + static_cast<Index>(random() % 7), width);
        const Index count = table->read(block);
        ASSERT_GT(count, 0);
        for (Index i = 0; i < count; ++i) {
          const auto& cell = cells[static_cast<std::size_t>(done + i)];
          for (Index k = 0; k + 1 < width; ++k) {
            if (cell.empty()) {
              EXPECT_TRUE(std::isnan(block(i, k)));
            } else {
              EXPECT_EQ(block(i, k), cell == levels[static_cast<std::size_t>(k)] ? 1 : 0);
            }
          }
          EXPECT_EQ(block(i, width - 1), static_cast<double>(done + i));
        }
        done += count;
      }
      table->rewind();
    }
  }
}

}  // namespace carmina::testing::table_encoder_test
