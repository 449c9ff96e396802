// tests/data/rows_test.cpp -- targets chosen by name or count, and blocks of checked rows.
#include <carmina/data/rows.hpp>

#include "table_checks.hpp"

namespace carmina::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

std::vector<Column> columns_named(const std::vector<std::string>& names) {
  std::vector<Column> columns;
  for (const auto& name : names) columns.push_back({name, {}});
  return columns;
}

template <class T>
TableRows<T> rows_of(const std::string& path, const std::string& targets, bool allow_missing = false) {
  auto reader = open_table(path);
  auto roles = choose_columns(reader->columns(), targets, path);
  return TableRows<T>(std::move(reader), std::move(roles), allow_missing);
}

template <class T>
std::string error_of_rows(const std::string& path, const std::string& targets, bool allow_missing = false) {
  return error_of([&] {
    auto rows = rows_of<T>(path, targets, allow_missing);
    while (rows.next(2).rows > 0) continue;
  });
}

}  // namespace

TEST(ChooseColumns, ByCountByNamesOrNone) {
  const auto columns = columns_named({"a", "b", "c", "d"});
  auto roles = choose_columns(columns, "2", "f.csv");
  EXPECT_THAT(roles.inputs, ElementsAre(0, 1));
  EXPECT_THAT(roles.targets, ElementsAre(2, 3));
  roles = choose_columns(columns, "d, a", "f.csv");
  EXPECT_THAT(roles.inputs, ElementsAre(1, 2));
  EXPECT_THAT(roles.targets, ElementsAre(3, 0)) << "targets keep the order in which they were named";
  roles = choose_columns(columns, "", "f.csv");
  EXPECT_THAT(roles.inputs, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(roles.targets, IsEmpty());
  EXPECT_THAT(choose_columns(columns_named({"x", "a,b"}), "a,b", "f.csv").targets, ElementsAre(1));
}

TEST(ChooseColumns, SaysWhatThereIs) {
  const auto columns = columns_named({"speed", "angle", "force"});
  const auto message = [&](const std::string& targets) {
    return error_of([&] { choose_columns(columns, targets, "f.csv"); });
  };
  EXPECT_EQ(message("sped"), "f.csv: no column is named 'sped'; did you mean 'speed'?");
  EXPECT_EQ(message("angle,Force"), "f.csv: no column is named 'Force'; did you mean 'force'?");
  EXPECT_EQ(message("weight"), "f.csv: no column is named 'weight'; the columns are 'speed', 'angle', 'force'");
  EXPECT_EQ(message("angle,angle"), "f.csv: the target 'angle' is named twice");
  EXPECT_EQ(message("angle,"), "f.csv: a target has an empty name");
  EXPECT_EQ(message("angle,speed,force"), "f.csv: all 3 columns are targets; one must stay an input");
  for (const char* count : {"0", "3", "-1", "99"}) {
    EXPECT_EQ(
        message(count),
        format_text("f.csv: the number of targets must be from 1 to 2 (3 columns, of which one must stay an input), "
                    "found {}",
                    count));
  }
  std::vector<std::string> many;
  for (int j = 1; j <= 30; ++j) many.push_back(format_text("c{}", j));
  EXPECT_EQ(error_of([&] { choose_columns(columns_named(many), "speed", "f.csv"); }),
            "f.csv: no column is named 'speed'; the columns are 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', "
            "'c8', 'c9', 'c10' "
            "and 20 more");
}

template <class T>
class TableRowsOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TableRowsOf, Reals);

TYPED_TEST(TableRowsOf, GiveInputsAndTargetsInBlocksOfAnySize) {
  using T = TypeParam;
  TempDir dir;
  std::string text = "a,y,b\n";
  for (int i = 0; i < 23; ++i) text += format_text("{},{},{}\n", i, i * 10, i + 0.5);
  const auto path = dir.file("f.csv", text);
  auto rows = rows_of<T>(path, "y");
  EXPECT_EQ(rows.dim_in(), 2);
  EXPECT_EQ(rows.dim_out(), 1);
  EXPECT_FALSE(rows.rows().has_value());
  for (Index size : {Index{1}, Index{7}, Index{23}, Index{1} << 40}) {
    Index seen = 0;
    for (auto block = rows.next(size); block.rows > 0; block = rows.next(size)) {
      EXPECT_EQ(block.rows, std::min(size, 23 - seen));
      EXPECT_EQ(block.first_row, seen);
      EXPECT_EQ(block.weights, nullptr);
      for (Index i = 0; i < block.rows; ++i) {
        EXPECT_EQ(block.inputs()(i, 0), static_cast<T>(seen + i));
        EXPECT_EQ(block.inputs()(i, 1), static_cast<T>(seen + i) + T(0.5));
        EXPECT_EQ(block.targets()(i, 0), static_cast<T>(10 * (seen + i)));
        EXPECT_EQ(rows.place(i), format_text("{}:{}", path, seen + i + 2));
      }
      seen += block.rows;
    }
    EXPECT_EQ(seen, 23);
    EXPECT_EQ(rows.next(size).rows, 0);
    EXPECT_EQ(rows.rows(), 23) << "known after the first pass";
    rows.rewind();
  }
}

TYPED_TEST(TableRowsOf, ABlockOfManyPartsIsWhole) {
  TempDir dir;
  const Index n = 20'000, d = 40;  // more cells than are read at once
  const Matrix<double> values = Vector<double>::LinSpaced(n * d, 0, n * d - 1).reshaped<Eigen::RowMajor>(n, d);
  write_table(dir.path("f.npy"), {}, values);
  auto rows = rows_of<TypeParam>(dir.path("f.npy"), "3");
  EXPECT_EQ(rows.rows(), n);
  for (Index size : {n - 1, n}) {
    const auto block = rows.next(size);
    ASSERT_EQ(block.rows, size);
    EXPECT_TRUE(block.inputs() == values.leftCols(d - 3).topRows(size).template cast<TypeParam>());
    EXPECT_TRUE(block.targets() == values.rightCols(3).topRows(size).template cast<TypeParam>());
    EXPECT_EQ(rows.place(size - 1), format_text("{}: row {}", dir.path("f.npy"), size));
    EXPECT_EQ(rows.place(0), format_text("{}: row 1", dir.path("f.npy")));
    EXPECT_EQ(rows.next(5).rows, n - size);
    rows.rewind();
  }
}

TYPED_TEST(TableRowsOf, MissingAndInfiniteCellsAreNamed) {
  using T = TypeParam;
  TempDir dir;
  const auto csv = dir.file("f.csv", "x,z,y\n1,1,2\n3,1,4\n5,,6\n");
  EXPECT_EQ(error_of_rows<T>(csv, "y"),
            csv +
                ":4: column 'z': the value is missing; fill missing inputs with the training "
                "mean (--fill-missing), or remove the row");
  EXPECT_EQ(error_of_rows<T>(csv, "y", true), "(no error)");
  // A missing target is not the reader's to refuse: it arrives as NaN.
  EXPECT_EQ(error_of_rows<T>(csv, "z"), "(no error)");
  auto gaps = rows_of<T>(csv, "z");
  const auto block = gaps.next(10);
  EXPECT_EQ(block.targets()(1, 0), T(1));
  EXPECT_TRUE(std::isnan(block.targets()(2, 0)));
  EXPECT_EQ(block.inputs()(2, 1), T(6));

  write_table(dir.path("f.npy"), {}, matrix({{1, 2}, {3, 4}, {5, std::numeric_limits<double>::infinity()}}));
  for (const char* targets : {"", "1"}) {
    EXPECT_EQ(error_of_rows<T>(dir.path("f.npy"), targets, true),
              dir.path("f.npy") + ": row 3: column 'c2': expected a finite number, found inf");
  }
}

TYPED_TEST(TableRowsOf, TargetsMayComeFromASecondFile) {
  using T = TypeParam;
  TempDir dir;
  const auto with_labels = [&](int labels) {
    const auto inputs = dir.file("x.csv", "1,2\n3,4\n5,6\n");
    std::string text;
    for (int i = 0; i < labels; ++i) text += std::to_string(i + 7) + "\n";
    auto reader = open_table(inputs);
    auto roles = choose_columns(reader->columns(), "", inputs);
    return TableRows<T>(std::move(reader), open_table(dir.file("y.csv", text)), roles, false);
  };
  for (Index size : {1, 2, 3, 10}) {
    auto rows = with_labels(3);
    EXPECT_EQ(rows.dim_in(), 2);
    EXPECT_EQ(rows.dim_out(), 1);
    Index seen = 0;
    for (auto block = rows.next(size); block.rows > 0; block = rows.next(size)) {
      for (Index i = 0; i < block.rows; ++i) EXPECT_EQ(block.targets()(i, 0), static_cast<T>(seen + i + 7));
      seen += block.rows;
    }
    EXPECT_EQ(seen, 3);
    for (int labels : {2, 4}) {
      auto unequal = with_labels(labels);
      EXPECT_EQ(error_of([&] {
                  while (unequal.next(size).rows > 0) continue;
                }),
                format_text("{} has {} rows than {}: it ends at row {}", dir.path("y.csv"),
                            labels == 2 ? "fewer" : "more", dir.path("x.csv"), labels == 2 ? 2 : 3))
          << size;
    }
  }
  write_table(dir.path("x.npy"), {}, matrix({{1}, {2}}));
  write_table(dir.path("y.npy"), {}, matrix({{1}, {2}, {3}}));
  EXPECT_EQ(error_of([&] {
              TableRows<T>(open_table(dir.path("x.npy")), open_table(dir.path("y.npy")), ColumnRoles{{0}, {}}, false);
            }),
            format_text("{} has 3 rows, {} has 2", dir.path("y.npy"), dir.path("x.npy")));
}

TEST(TableRows, ANumberBeyondSinglePrecisionIsRefusedThereAlone) {
  TempDir dir;
  const auto path = dir.file("f.csv", "x,y\n1,2\n1e39,4\n");
  EXPECT_EQ(error_of_rows<float>(path, "y"), path + ":3: column 'x': 1e+39 is too large for single precision");
  EXPECT_EQ(error_of_rows<double>(path, "y"), "(no error)");
}

TEST(TableRows, RolesMustFitTheFile) {
  TempDir dir;
  const auto path = dir.file("f.csv", "x,y\n1,2\n");
  EXPECT_EQ(error_of([&] { TableRows<double>(open_table(path), ColumnRoles{{0, 2}, {1}}, false); }),
            path + ": there is no column 3 of 2");
  EXPECT_EQ(error_of([&] { TableRows<double>(open_table(path), ColumnRoles{{}, {1}}, false); }),
            path + ": no column is an input");
  auto rows = rows_of<double>(path, "y");
  EXPECT_EQ(error_of([&] { rows.next(0); }), "a block must have at least one row, found 0");
}

}  // namespace carmina::testing
