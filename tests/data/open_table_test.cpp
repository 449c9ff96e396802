// tests/data/open_table_test.cpp -- the choice of a reader by name, and files that cannot be read at all.
#include <sys/stat.h>

#include "table_checks.hpp"

namespace carmina::testing {

TEST(OpenTable, AnUnknownEndingListsTheKnownOnes) {
  TempDir dir;
  for (const char* name : {"a.txt", "csv", "a.csv.zip", "a.gz", "idx", "-idx3"}) {
    const auto path = dir.file(name, "1,2\n");
    EXPECT_EQ(error_of_reading(path),
              "cannot read '" + path +
                  "': the ending of its name must be .csv, .arff, .npy, .libsvm, .svm, .svmlight, "
                  ".idx or -idx3-ubyte, with .gz behind it when it is packed");
  }
}

TEST(OpenTable, EndingsAreReadWithoutCase) {
  TempDir dir;
  expect_table(dir.file("A.CSV", "1,2\n"), matrix({{1, 2}}));
  expect_table(dir.gzipped("B.Csv.GZ", "1,2\n"), matrix({{1, 2}}));
}

TEST(OpenTable, GivesTheSystemsReason) {
  TempDir dir;
  for (const char* name : {"a.csv", "a.arff", "a.npy", "a.libsvm", "a.idx", "a.csv.gz"}) {
    const auto path = dir.path(name);
    EXPECT_EQ(error_of_reading(path), "cannot read '" + path + "': No such file or directory");
    std::filesystem::create_directory(path);
    EXPECT_EQ(error_of_reading(path), "cannot read '" + path + "': Is a directory");
  }
  const auto fifo = dir.path("fifo.csv");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error_of_reading(fifo), "cannot read '" + fifo + "': it is not a regular file");
  const auto closed = dir.file("closed.csv", "1,2\n");
  ::chmod(closed.c_str(), 0);
  if (::geteuid() != 0) {
    EXPECT_EQ(error_of_reading(closed), "cannot read '" + closed + "': Permission denied");
  }
}

TEST(OpenTable, DamagedGzipFilesAreRefused) {
  TempDir dir;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 1000) + "," + std::to_string(i) + "\n";
  dir.gzipped("good.csv.gz", text);
  const std::string packed = dir.content("good.csv.gz");
  EXPECT_EQ(read_table(dir.path("good.csv.gz")).values.rows(), 20'000);

  for (std::size_t size : {packed.size() - 1, packed.size() - 9, packed.size() / 2, std::size_t{12}}) {
    const auto path = dir.file("cut.csv.gz", packed.substr(0, size));
    EXPECT_EQ(error_of_reading(path), path + ": the gzip data is truncated") << size;
  }
  std::string altered = packed;
  altered[packed.size() - 6] ^= 0x55;  // in the checksum
  const auto checksum = dir.file("altered.csv.gz", altered);
  EXPECT_EQ(error_of_reading(checksum), checksum + ": the gzip data is corrupt (incorrect data check)");

  const auto plain = dir.file("plain.csv.gz", "1,2\n");
  EXPECT_EQ(error_of_reading(plain), plain + ": not a gzip file, though its name ends in .gz");
  const auto named = dir.file("packed.csv", packed);
  EXPECT_EQ(error_of_reading(named), named + ": a gzip file, but its name does not end in .gz");
  const auto empty = dir.file("empty.csv.gz", "");
  EXPECT_EQ(error_of_reading(empty), empty + ": the file is empty");
}

}  // namespace carmina::testing
