// fuzz/readers.cpp -- tables of every format: whatever is read in one way is read so in every other.
#include "fuzz/input_file.hpp"
#include "fuzz/targets.hpp"
#include "support/slow_csv.hpp"

#include <carmina/core/error.hpp>
#include <carmina/data/table.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace carmina::fuzz {
namespace {

constexpr std::size_t budget = 100'000'000;  // bytes that a table may take
constexpr Index most_cells = 20'000;         // of a block: rows may be long, and what is not written is zero

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <class A, class B>
bool same_cells(const A& a, const B& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      if (!same(static_cast<double>(a(i, j)), static_cast<double>(b(i, j)))) return false;
    }
  }
  return true;
}

// At most so many rows, by blocks of `block`; the places of rows follow each other.
Matrix<double> rows_of(TableReader& reader, Index block, Index most) {
  const auto columns = static_cast<Index>(reader.columns().size());
  std::vector<double> all;
  Matrix<double> part(block, columns);
  Index rows = 0, position = -1;
  for (Index count = block; count == block && rows < most; rows += count) {
    count = reader.read(part);
    expect(count >= 0 && count <= block, "a block holds more rows than were asked for");
    for (Index i = 0; i < count; ++i) {
      expect(reader.position(i) > position, "a row stands before the one before it");
      position = reader.position(i);
    }
    // A place is a function of the position: of the second reading, row by row, a sample.
    if (count > 0 && (block > 1 || (rows & (rows + 1)) == 0)) expect_readable(reader.place(count - 1));
    all.insert(all.end(), part.data(), part.data() + count * columns);
  }
  return Eigen::Map<const Matrix<double>>(all.data(), rows, columns);
}

void check_floats(TableReader& reader, const Matrix<double>& expected) {
  if (!reader.fits_float()) return;
  reader.rewind();
  Matrix<float> cells(expected.rows(), expected.cols());
  expect(reader.read_floats(cells) == expected.rows(), "floats end before doubles");
  expect(same_cells(cells, expected), "floats differ from doubles");
}

// Reads the file in blocks of some sizes. `compare` sees the whole table when it is small.
void read_file(const std::string& path, const std::function<void(const Table&)>& compare = {}) {
  const auto reader = open_table(path, 0, budget);
  const auto columns = static_cast<Index>(reader->columns().size());
  expect(columns > 0, "a table without columns");
  const Index most = std::max<Index>(2, most_cells / columns);
  const Matrix<double> first = rows_of(*reader, std::min<Index>(7, most), most);
  expect(first.rows() > 0 || reader->rows() == 0, "a table without rows");
  reader->rewind();
  const Matrix<double> again = rows_of(*reader, 1, first.rows());
  expect(same_cells(first, again), "other rows after a rewind, or in blocks of another size");
  check_floats(*reader, first);
  if (first.rows() >= most) return;
  if (reader->rows()) expect(*reader->rows() == first.rows(), "the number of rows is not what was told");
  const Table whole = read_table(path, budget);
  expect(same_cells(whole.values, first), "the table in memory differs");
  if (compare) compare(whole);
}

// Runs read_file, and says whether the table was refused.
bool refused(const std::string& path, const std::function<void(const Table&)>& compare = {}) {
  try {
    read_file(path, compare);
    return false;
  } catch (const Error& error) {
    expect_readable(error.what());
    return true;
  }
}

void run_reader(const char* ending, Bytes bytes) { refused(InputFile(ending, bytes).path()); }

std::string packed(Bytes bytes) {
  z_stream stream{};
  // 16: gzip's header and its checksum.
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

}  // namespace

// The reader agrees with the slow one of the tests.
void run_csv(Bytes bytes) {
  const auto expected = testing::slow_csv(std::string(text_of(bytes)));
  const bool no = refused(InputFile(".csv", bytes).path(), [&](const Table& found) {
    expect(expected.has_value(), "a table that is to be refused");
    expect(found.columns.size() == expected->names.size(), "another number of columns");
    for (std::size_t j = 0; j < found.columns.size(); ++j) {
      expect(found.columns[j].name == expected->names[j], "another name");
    }
    expect(same_cells(found.values, expected->values()), "other cells");
  });
  expect(!no || !expected, "a table is refused that is a good one");
}

void run_arff(Bytes bytes) { run_reader(".arff", bytes); }
void run_npy(Bytes bytes) { run_reader(".npy", bytes); }
void run_libsvm(Bytes bytes) { run_reader(".svm", bytes); }
void run_idx(Bytes bytes) { run_reader(".idx", bytes); }

std::size_t unpacked_gzip(Bytes bytes) {
  if (bytes.empty() || bytes[0] < 128) return bytes.size();
  z_stream stream{};
  if (::inflateInit2(&stream, 15 + 16) != Z_OK) return bytes.size();
  std::array<std::uint8_t, 1 << 16> room;
  std::size_t size = 0;
  stream.next_in = const_cast<Bytef*>(bytes.data() + 1);
  stream.avail_in = static_cast<uInt>(bytes.size() - 1);
  for (int code = Z_OK; code == Z_OK;) {
    stream.next_out = room.data();
    stream.avail_out = room.size();
    code = ::inflate(&stream, Z_NO_FLUSH);
    size += room.size() - stream.avail_out;
  }
  ::inflateEnd(&stream);
  return std::max(size, bytes.size());
}

// The first byte chooses a format and whether the rest is packed already; else it is packed here, and must be read as
// it is read unpacked.
void run_gzip(Bytes bytes) {
  static constexpr std::array endings = {".csv", ".arff", ".npy", ".svm", ".idx"};
  if (bytes.empty()) return;
  const std::string ending = endings[bytes[0] % endings.size()];
  const bool is_packed = bytes[0] >= 128;
  bytes = bytes.subspan(1);
  if (is_packed) return run_reader((ending + ".gz").c_str(), bytes);
  const std::string inside = packed(bytes);
  const Bytes as_bytes(reinterpret_cast<const std::uint8_t*>(inside.data()), inside.size());
  const InputFile plain(ending, bytes), zipped(ending + ".gz", as_bytes);
  std::optional<Table> expected;
  const bool no = refused(plain.path(), [&](const Table& found) { expected = found; });
  refused(zipped.path(), [&](const Table& found) {
    expect(!no, "what is refused as it is must be refused when it is packed");
    expect(!expected || same_cells(found.values, expected->values), "other cells when packed");
  });
}

}  // namespace carmina::fuzz
