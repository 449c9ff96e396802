// tests/data/binary_test.cpp -- NPY and IDX files of every element type and order, whole and truncated.
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "table_checks.hpp"

namespace carmina::testing {

using ::testing::HasSubstr;

namespace {

template <class T>
std::string bytes_of(const Matrix<double>& values, bool column_major, bool big_endian) {
  std::string result;
  for (Index k = 0; k < values.size(); ++k) {
    const double value = column_major ? values(k % values.rows(), k / values.rows()) : values.data()[k];
    const T element = static_cast<T>(value);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &element, sizeof(T));
    if (big_endian) std::reverse(bytes, bytes + sizeof(T));
    result.append(bytes, sizeof(T));
  }
  return result;
}

std::string npy(const std::string& header, const std::string& body, int version = 1) {
  std::string padded = header + std::string(20, ' ') + "\n";
  std::string result = "\x93NUMPY" + std::string{static_cast<char>(version), '\0'};
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k) result += static_cast<char>(padded.size() >> (8 * k) & 0xFF);
  return result + padded + body;
}

std::string npy_header(const std::string& type, bool fortran, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

std::string idx(unsigned type, const std::vector<std::uint32_t>& sizes, const std::string& body) {
  std::string result{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (std::uint32_t size : sizes) {
    for (int k = 3; k >= 0; --k) result += static_cast<char>(size >> (8 * k) & 0xFF);
  }
  return result + body;
}

const Matrix<double> small = matrix({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}, {13, 14, 100}});
const Matrix<double> negative = matrix({{-1, 2}, {3, -4}, {-100, 6}});

template <class T>
void check_npy_type(const std::string& type, const Matrix<double>& values) {
  TempDir dir;
  const std::string shape = format_text("({}, {})", values.rows(), values.cols());
  for (bool fortran : {false, true}) {
    for (int version : {1, 2, 3}) {
      const std::string content =
          npy(npy_header(type, fortran, shape), bytes_of<T>(values, fortran, type[0] == '>'), version);
      expect_table(dir.file("a.npy", content), values);
      if (!fortran) expect_table(dir.gzipped("b.npy.gz", content), values);
    }
  }
}

}  // namespace

TEST(Npy, ReadsEveryElementTypeInBothOrders) {
  check_npy_type<float>("<f4", negative / 8);
  check_npy_type<double>("<f8", negative / 3);
  check_npy_type<double>(">f8", negative / 3);
  check_npy_type<std::int8_t>("|i1", negative);
  check_npy_type<std::int16_t>("<i2", negative);
  check_npy_type<std::int32_t>("<i4", negative * 100000);
  check_npy_type<std::int64_t>("<i8", negative * 1e12);
  check_npy_type<std::uint8_t>("|u1", small);
  check_npy_type<std::uint16_t>("<u2", small * 600);
  check_npy_type<std::uint32_t>("<u4", small * 4e7);
  check_npy_type<std::uint64_t>("<u8", small * 1e15);
}

TEST(Npy, OneDimensionIsOneColumn) {
  TempDir dir;
  const Matrix<double> column = matrix({{1}, {nan}, {3}});
  expect_table(dir.file("a.npy", npy(npy_header("<f8", false, "(3,)"), bytes_of<double>(column, false, false))),
               column);
  expect_table(dir.gzipped("f.npy.gz", npy(npy_header("<f8", true, "(3,)"), bytes_of<double>(column, false, false))),
               column);
}

TEST(Npy, TheKeysMayComeInAnyOrderAndSpacing) {
  TempDir dir;
  const auto path = dir.file("a.npy", npy("{ \"shape\":(2L,1) ,'fortran_order' :True,'descr':'<f8'}",
                                          bytes_of<double>(matrix({{1}, {2}}), true, false)));
  expect_table(path, matrix({{1}, {2}}));
}

TEST(Npy, PlaceCountsRowsFromOne) {
  TempDir dir;
  const auto path = dir.file("a.npy", npy(npy_header("<f8", false, "(5, 3)"), bytes_of<double>(small, false, false)));
  const auto reader = open_table(path);
  Matrix<double> block(2, 3);
  reader->read(block);
  reader->read(block);
  EXPECT_EQ(reader->place(1), path + ": row 4");
}

TEST(Npy, SaysWhatIsWrong) {
  TempDir dir;
  const auto message = [&](const std::string& content) {
    const auto path = dir.file("a.npy", content);
    const std::string found = error_of_reading(path);
    EXPECT_EQ(found.substr(0, path.size()), path);
    return found.substr(std::min(found.size(), path.size()));
  };
  const std::string body = bytes_of<double>(small, false, false);
  const std::string whole = npy(npy_header("<f8", false, "(5, 3)"), body);
  EXPECT_EQ(message(whole.substr(0, whole.size() - 1)),
            ": the file is truncated: 5 x 3 elements need 120 bytes, found 119");
  EXPECT_EQ(message(whole.substr(0, 50)), ": the file is truncated: its header is not whole");
  EXPECT_EQ(message(whole.substr(0, 9)), ": the file is truncated: its header is not whole");
  EXPECT_EQ(message(whole.substr(0, 7)), ": the file is truncated: its header is not whole");
  EXPECT_EQ(message(whole.substr(0, 5)), ": not an NPY file: it does not begin with NumPy's mark");
  EXPECT_EQ(message("a,b\n1,2\n3,4\n"), ": not an NPY file: it does not begin with NumPy's mark");
  EXPECT_EQ(message(npy(npy_header("<f8", false, "(5, 3)"), body, 4)), ": NPY version 4.0 is not known (1 to 3 are)");
  for (const char* type : {"<c16", "<f2", "|b1", "|O", "<U5", "<M8[ns]", "<f16", "f", ""}) {
    EXPECT_EQ(message(npy(npy_header(type, false, "(5, 3)"), body)),
              format_text(": elements of type '{}' are not supported (float32, float64 and integers are)", type));
  }
  EXPECT_THAT(message(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (5,), }", body)),
              HasSubstr("structured elements are not supported"));
  EXPECT_EQ(message(npy(npy_header("<f8", false, "(5, 3, 1)"), body)),
            ": expected an array of 1 or 2 dimensions, found 3");
  EXPECT_EQ(message(npy(npy_header("<f8", false, "()"), body)), ": expected an array of 1 or 2 dimensions, found 0");
  EXPECT_EQ(message(npy(npy_header("<f8", false, "(0, 3)"), body)), ": the table has no rows");
  EXPECT_EQ(message(npy(npy_header("<f8", false, "(5, 0)"), body)), ": a table without columns");
  EXPECT_THAT(message(npy(npy_header("<f8", false, "(4000000000, 4000000000)"), body)),
              HasSubstr("larger than any file"));
  EXPECT_THAT(message(npy(npy_header("<f8", false, "(1000000000, 1000)"), body)), HasSubstr("is truncated"));
  for (const char* header : {"", "{", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': 1, 'shape': (5, 3)}",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (5, -3)}", "{'descr: '<f8'", "[1, 2]",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (5, 3), 'more': 1}",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 3)}"}) {
    EXPECT_EQ(message(npy(header, body)), ": the NPY header is malformed") << header;
  }
  EXPECT_EQ(message(""), ": the file is empty");
}

TEST(Npy, APackedFortranArrayIsRefused) {
  TempDir dir;
  const auto path =
      dir.gzipped("a.npy.gz", npy(npy_header("<f8", true, "(5, 3)"), bytes_of<double>(small, true, false)));
  EXPECT_EQ(error_of_reading(path),
            path + ": a Fortran-ordered array cannot be read row by row while packed; unpack it first");
}

TEST(Npy, APackedHeaderThatPromisesTooMuchIsFoundWithoutAllocatingIt) {
  TempDir dir;
  const auto path = dir.gzipped(
      "a.npy.gz", npy(npy_header("<f8", false, "(1000000000000, 3)"), bytes_of<double>(small, false, false)));
  EXPECT_EQ(error_of_reading(path),
            path + ": the file is truncated: 1000000000000 rows were expected, the data end in row 6");
}

// Pages behind the reading position are given back: reading 256 MB leaves the peak of resident memory where
// it was.
TEST(Npy, ReadsALargeFileWithASmallResidentSet) {
  for (bool fortran : {false, true}) {
    TempDir dir;
    const Index rows = 1 << 20, columns = 32;
    const auto path = dir.file("a.npy", npy(npy_header("<f8", fortran, format_text("({}, {})", rows, columns)), ""));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) + sizeof(double) * rows * columns);
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto reader = open_table(path);
    Matrix<double> block(4096, columns);
    Index count = 0;
    for (Index found = reader->read(block); found > 0; found = reader->read(block)) count += found;
    ::getrusage(RUSAGE_SELF, &after);
    EXPECT_EQ(count, rows);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 40 * 1024) << "kilobytes; fortran: " << fortran;
  }
}

TEST(Idx, ReadsEveryElementTypeAndFlattensDimensions) {
  TempDir dir;
  expect_table(dir.file("a.idx", idx(0x08, {5, 3}, bytes_of<std::uint8_t>(small, false, true))), small);
  expect_table(dir.file("a.idx", idx(0x09, {3, 2}, bytes_of<std::int8_t>(negative, false, true))), negative);
  expect_table(dir.file("a.idx", idx(0x0B, {3, 2}, bytes_of<std::int16_t>(negative * 99, false, true))), negative * 99);
  expect_table(dir.file("a.idx", idx(0x0C, {3, 2}, bytes_of<std::int32_t>(negative * 1e6, false, true))),
               negative * 1e6);
  expect_table(dir.file("a.idx", idx(0x0D, {3, 2}, bytes_of<float>(negative / 4, false, true))), negative / 4);
  expect_table(dir.file("a.idx", idx(0x0E, {3, 2}, bytes_of<double>(negative / 3, false, true))), negative / 3);
  Matrix<double> images = small.reshaped<Eigen::RowMajor>(1, 15);
  expect_table(dir.file("t10k-images-idx3-ubyte", idx(0x08, {1, 3, 5}, bytes_of<std::uint8_t>(images, false, true))),
               images);
}

TEST(Idx, KnowsTheNamesOfTheMnistFiles) {
  TempDir dir;
  const Matrix<double> labels = matrix({{7}, {0}, {255}});
  const std::string content = idx(0x08, {3}, bytes_of<std::uint8_t>(labels, false, true));
  expect_table(dir.file("train-labels-idx1-ubyte", content), labels);
  expect_table(dir.gzipped("train-labels-idx1-ubyte.gz", content), labels);
  expect_table(dir.gzipped("train-labels.idx1-ubyte.gz", content), labels);
  expect_table(dir.gzipped("Labels.IDX.GZ", content), labels);
}

TEST(Idx, SaysWhatIsWrong) {
  TempDir dir;
  const auto message = [&](const std::string& content) {
    const auto path = dir.file("a.idx", content);
    const std::string found = error_of_reading(path);
    EXPECT_EQ(found.substr(0, path.size()), path);
    return found.substr(std::min(found.size(), path.size()));
  };
  const std::string body = bytes_of<std::uint8_t>(small, false, true), whole = idx(0x08, {5, 3}, body);
  EXPECT_EQ(message(whole.substr(0, whole.size() - 1)),
            ": the file is truncated: 5 x 3 elements need 15 bytes, found 14");
  EXPECT_EQ(message(whole.substr(0, 10)), ": the file is truncated: its header is not whole");
  EXPECT_EQ(message(whole.substr(0, 3)), ": the file is truncated: its header is not whole");
  EXPECT_EQ(message(idx(0x0A, {5, 3}, body)), ": not an IDX file: the element type 0x0a is not known");
  EXPECT_EQ(message("a,b\n1,2\n"), ": not an IDX file: it does not begin with two zero bytes");
  EXPECT_EQ(message(idx(0x08, {}, body)), ": an IDX table needs at least one dimension, found 0");
  EXPECT_EQ(message(idx(0x08, {0, 3}, body)), ": the table has no rows");
  EXPECT_EQ(message(idx(0x08, {5, 0}, body)), ": a table without columns");
  EXPECT_EQ(message(idx(0x0E, {1u << 31, 1u << 31, 1u << 31}, body)), ": the dimensions are larger than any file");
  EXPECT_THAT(message(idx(0x0E, {1u << 31, 1u << 20, 1u << 20}, body)), HasSubstr("larger than any file"));
  const auto packed = dir.gzipped("b.idx.gz", whole.substr(0, whole.size() - 1));
  EXPECT_EQ(error_of_reading(packed), packed + ": the file is truncated: 5 rows were expected, the data end in row 5");
}

}  // namespace carmina::testing
