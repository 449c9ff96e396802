// tests/data/table_writer_test.cpp -- what is written reads back bit by bit; what is not finished leaves nothing.
#include <sys/stat.h>
#include "core/atomic_file.hpp"

#include <random>

#include "table_checks.hpp"

namespace carmina::testing {

namespace {

Matrix<double> random_table(Index rows, Index columns) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Matrix<double> values(rows, columns);
  for (Index k = 0; k < values.size(); ++k) values.data()[k] = normal(random) * std::pow(10, k % 40 - 20);
  values(0, 0) = nan;
  values(rows / 2, columns - 1) = 5e-324;
  return values;
}

}  // namespace

class EveryOutput : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Endings, EveryOutput, ::testing::Values("a.csv", "a.npy", "a.csv.gz", "a.npy.gz", "A.NPY.GZ"));

TEST_P(EveryOutput, ReadsBackBitByBit) {
  TempDir dir;
  const Matrix<double> values = random_table(1000, 3);
  write_table(dir.path(GetParam()), {"x", "y", "z"}, values);
  expect_table(dir.path(GetParam()), values);
  EXPECT_EQ(dir.entries(), 1u);
}

TEST_P(EveryOutput, BlocksGiveTheSameFileAsTheWhole) {
  TempDir dir;
  const Matrix<double> values = random_table(100, 2);
  write_table(dir.path(GetParam()), {"x", "y"}, values);
  const std::string whole = dir.content(GetParam());
  for (Index block : {1, 7, 100}) {
    TableWriter writer(dir.path(GetParam()), {"x", "y"});
    for (Index i = 0; i < values.rows(); i += block) {
      writer.write(values.middleRows(i, std::min(block, values.rows() - i)));
    }
    writer.finish();
    EXPECT_TRUE(dir.content(GetParam()) == whole) << block;
  }
}

TEST_P(EveryOutput, WithoutFinishNothingIsLeftAndTheOldFileStays) {
  TempDir dir;
  {
    TableWriter writer(dir.path(GetParam()), {"x"});
    writer.write(matrix({{1}, {2}}));
    EXPECT_FALSE(std::filesystem::exists(dir.path(GetParam())));
  }
  EXPECT_EQ(dir.entries(), 0u);
  dir.file(GetParam(), "old");
  {
    TableWriter writer(dir.path(GetParam()), {"x"});
    writer.write(matrix({{1}, {2}}));
  }
  EXPECT_EQ(dir.content(GetParam()), "old");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST_P(EveryOutput, AnUnwritablePlaceIsSaidAtOnce) {
  TempDir dir;
  const auto missing = dir.path("nowhere/") + GetParam();
  EXPECT_EQ(error_of([&] { TableWriter(missing, {"x"}); }),
            "cannot write '" + missing + "': No such file or directory");
  const auto folder = dir.path(GetParam());
  std::filesystem::create_directory(folder);
  EXPECT_EQ(error_of([&] { TableWriter(folder, {"x"}); }), "cannot write '" + folder + "': Is a directory");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(TableWriter, WritesTheHeaderThatItsReaderUnderstands) {
  TempDir dir;
  const std::vector<std::string> names = {"plain", "with, comma", "with \"quotes\"", "with\nnewline"};
  write_table(dir.path("a.csv"), names, matrix({{1, 0.1, -2e300, 1e-7}}));
  EXPECT_EQ(dir.content("a.csv"),
            "plain,\"with, comma\",\"with \"\"quotes\"\"\",\"with\nnewline\"\n1,0.1,-2e+300,1e-07\n");
  EXPECT_EQ(names_of(open_table(dir.path("a.csv"))->columns()), names);
}

TEST(TableWriter, WithoutNamesACsvHasNoHeader) {
  TempDir dir;
  write_table(dir.path("a.csv"), {}, matrix({{1, 2}, {3, 4}}));
  EXPECT_EQ(dir.content("a.csv"), "1,2\n3,4\n");
}

TEST(TableWriter, RefusesOtherEndingsAndOtherWidths) {
  TempDir dir;
  const auto path = dir.path("a.arff");
  EXPECT_EQ(error_of([&] { TableWriter(path, {"x"}); }),
            "cannot write '" + path + "': the ending of its name must be .csv, .npy, .csv.gz or .npy.gz");
  TableWriter writer(dir.path("a.csv"), {"x", "y"});
  EXPECT_EQ(error_of([&] { writer.write(matrix({{1, 2, 3}})); }),
            "cannot write '" + dir.path("a.csv") + "': expected 2 columns, found 3");
  writer.finish();
  EXPECT_EQ(error_of([&] { writer.finish(); }), "TableWriter: finish is called once");
}

TEST(TableWriter, WritesNumPysHeader) {
  TempDir dir;
  write_table(dir.path("a.npy"), {"x", "y"}, matrix({{1, 2}, {3, 4}, {5, 6}}));
  const std::string content = dir.content("a.npy");
  EXPECT_EQ(content.size(), 128 + 48u);
  EXPECT_EQ(content.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(content.substr(10, 61), "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }  ");
  EXPECT_EQ(content[127], '\n');
}

TEST(AtomicFile, OverwritesAndCommits) {
  TempDir dir;
  AtomicFile file(dir.path("model"));
  const std::string large(1'000'000, 'a');
  file.write("head", 4);
  file.write(large.data(), large.size());
  file.overwrite(1, "EA", 2);
  file.write("tail", 4);
  EXPECT_EQ(file.size(), large.size() + 8);
  EXPECT_THAT(error_of([&] { file.overwrite(large.size() + 7, "xx", 2); }), ::testing::HasSubstr("not written yet"));
  EXPECT_FALSE(std::filesystem::exists(dir.path("model")));
  file.commit();
  EXPECT_TRUE(dir.content("model") == "hEAd" + large + "tail");
  EXPECT_EQ(dir.entries(), 1u);
  EXPECT_EQ(error_of([&] { file.commit(); }), "cannot write '" + dir.path("model") + "': it is already finished");
}

TEST(AtomicFile, TwoWritersOfOnePathDoNotMix) {
  TempDir dir;
  AtomicFile first(dir.path("model")), second(dir.path("model"));
  first.write("first", 5);
  second.write("second", 6);
  first.commit();
  EXPECT_EQ(dir.content("model"), "first");
  second.commit();
  EXPECT_EQ(dir.content("model"), "second");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(AtomicFile, HasTheUsersUsualPermissionsAndRefusesDevices) {
  TempDir dir;
  dir.file("plain", "");
  AtomicFile file(dir.path("model"));
  file.commit();
  struct stat plain{}, model{};
  ::stat(dir.path("plain").c_str(), &plain);
  ::stat(dir.path("model").c_str(), &model);
  EXPECT_EQ(plain.st_mode, model.st_mode);
  EXPECT_EQ(error_of([] { AtomicFile device("/dev/null"); }), "cannot write '/dev/null': it is not a regular file");
}

}  // namespace carmina::testing
