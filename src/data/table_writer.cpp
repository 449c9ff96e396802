// data/table_writer.cpp -- tables as CSV or NPY, packed or not, through a file that appears whole or not at
// all; "-" is CSV on standard output.
#include "core/atomic_file.hpp"
#include "data/byte_input.hpp"

#include <carmina/core/error.hpp>
#include <carmina/data/table.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

namespace carmina {

namespace {

// One gzip member, written as its bytes come. Members may follow each other: readers join them.
class GzipMember {
 public:
  GzipMember(AtomicFile& file, int level) : file_(file) {
    const int gzip_format = 15 + 16;  // the largest window, and a gzip header
    require(::deflateInit2(&stream_, level, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) == Z_OK,
            "cannot write: zlib did not start");
  }
  ~GzipMember() { ::deflateEnd(&stream_); }
  GzipMember(const GzipMember&) = delete;
  GzipMember& operator=(const GzipMember&) = delete;

  void write(const char* data, std::size_t size) {
    while (size > 0) {
      const std::size_t part = std::min<std::size_t>(size, 1u << 30);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data));
      stream_.avail_in = static_cast<uInt>(part);
      run(Z_NO_FLUSH);
      data += part;
      size -= part;
    }
  }
  void finish() { run(Z_FINISH); }

 private:
  void run(int flush) {
    Bytef packed[1 << 14];
    do {
      stream_.next_out = packed;
      stream_.avail_out = sizeof packed;
      ::deflate(&stream_, flush);
      file_.write(packed, sizeof packed - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  AtomicFile& file_;
  z_stream stream_{};
};

// A gzip member that holds `text` as it is: its size depends on the size of the text alone.
std::string stored_member(const std::string& text) {
  const auto little_endian = [](std::uint64_t value, int bytes) {
    std::string result;
    for (int k = 0; k < bytes; ++k) result += static_cast<char>(value >> (8 * k) & 0xFF);
    return result;
  };
  const auto checksum = ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  std::string member("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  member += '\x01';  // the last block, stored: its length, and the complement of it
  member += little_endian(text.size(), 2) + little_endian(~text.size(), 2) + text;
  return member + little_endian(checksum, 4) + little_endian(text.size(), 4);
}

static_assert(std::endian::native == std::endian::little, "doubles are written as they lie in memory: '<f8'");

// NPY version 1, always 128 bytes, so that it can be rewritten when the number of rows is known.
std::string npy_header(Index rows, Index columns) {
  std::string header("\x93NUMPY\x01\x00\x76\x00", 10);  // 0x76 = 118 bytes follow
  header += format_text("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  header.resize(127, ' ');
  return header + '\n';
}

constexpr const char* standard_output = "-";

std::string csv_name(const std::string& name) {
  if (name.find_first_of(",;\t\"\r\n") == std::string::npos) return name;
  std::string quoted = "\"";
  for (char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

struct TableWriter::State {
  State(const std::string& file_path, std::vector<std::string> column_names, bool is_npy, bool is_packed)
      : path(file_path),
        names(std::move(column_names)),
        npy(is_npy),
        packed(is_packed),
        columns(static_cast<Index>(names.size())) {
    if (path != standard_output) file.emplace(path);
    if (npy) {
      const std::string header = npy_header(0, 0);  // overwritten by finish()
      const std::string first = packed ? stored_member(header) : header;
      file->write(first.data(), first.size());
    }
    if (packed) body.emplace(*file, Z_DEFAULT_COMPRESSION);
    if (!npy && !names.empty()) {
      std::string line = csv_name(names[0]);
      for (std::size_t j = 1; j < names.size(); ++j) line += ',' + csv_name(names[j]);
      put(line + '\n');
    }
  }

  void put(std::string_view bytes) {
    if (body) {
      body->write(bytes.data(), bytes.size());
    } else if (file) {
      file->write(bytes.data(), bytes.size());
    } else {
      require(std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size(),
              "cannot write the standard output: {}", std::generic_category().message(errno));
    }
  }

  std::string path;
  std::vector<std::string> names;
  bool npy, packed;
  Index columns;  // 0 until the first rows come, when there are no names
  Index rows = 0;
  std::optional<AtomicFile> file;  // none: standard output
  std::optional<GzipMember> body;
};

TableWriter::TableWriter(const std::string& path, std::vector<std::string> names) {
  std::string name = data::lower(path);
  const bool packed = data::ends_with_gz(name);
  if (packed) name.resize(name.size() - 3);
  const bool npy = name.ends_with(".npy");
  require(npy || name.ends_with(".csv") || name == standard_output,
          "cannot write '{}': the ending of its name must be .csv, .npy, .csv.gz or .npy.gz", path);
  state_ = std::make_unique<State>(path, std::move(names), npy, packed);
}

TableWriter::~TableWriter() = default;
TableWriter::TableWriter(TableWriter&&) noexcept = default;

void TableWriter::write(ConstView<double> rows) {
  require(state_ != nullptr, "TableWriter: nothing can be written after finish");
  State& state = *state_;
  if (state.columns == 0) state.columns = rows.cols();
  require(state.columns > 0, "cannot write '{}': a table without columns", state.path);
  require(rows.cols() == state.columns, "cannot write '{}': expected {} columns, found {}", state.path, state.columns,
          rows.cols());
  fmt::memory_buffer line;
  for (Index i = 0; i < rows.rows(); ++i) {
    const double* cells = rows.data() + i * rows.outerStride();
    if (state.npy) {
      state.put({reinterpret_cast<const char*>(cells), sizeof(double) * static_cast<std::size_t>(rows.cols())});
      continue;
    }
    line.clear();
    for (Index j = 0; j < rows.cols(); ++j) fmt::format_to(std::back_inserter(line), "{},", cells[j]);
    line[line.size() - 1] = '\n';
    state.put({line.data(), line.size()});
  }
  state.rows += rows.rows();
}

void TableWriter::finish() {
  require(state_ != nullptr, "TableWriter: finish is called once");
  State& state = *state_;
  if (state.body) state.body->finish();
  if (state.npy) {
    const std::string header = npy_header(state.rows, state.columns);
    const std::string first = state.packed ? stored_member(header) : header;
    state.file->overwrite(0, first.data(), first.size());
  }
  if (state.file) state.file->commit();
  state_.reset();
}

void write_table(const std::string& path, const std::vector<std::string>& names, const Matrix<double>& values) {
  TableWriter writer(path, names);
  writer.write(values);
  writer.finish();
}

}  // namespace carmina
