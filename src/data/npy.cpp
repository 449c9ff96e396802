// data/npy.cpp -- NumPy's files, versions 1 to 3: the header, and who reads what follows.
#include "data/cells.hpp"
#include "data/file_table.hpp"
#include "data/readers.hpp"

#include <charconv>
#include <optional>

namespace carmina::data {

namespace {

// The header is a Python dictionary with three known keys, in any order and spacing:
//   {'descr': '<f8', 'fortran_order': False, 'shape': (100, 5), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Layout parse() {
    take('{');
    while (!peek('}')) {
      const std::string key = quoted();
      take(':');
      if (key == "descr") {
        layout_.element = element();
        seen_descr_ = true;
      } else if (key == "fortran_order") {
        layout_.column_major = boolean();
        seen_order_ = true;
      } else if (key == "shape") {
        shape();
        seen_shape_ = true;
      } else {
        malformed();
      }
      if (!peek('}')) take(',');
    }
    if (!(seen_descr_ && seen_order_ && seen_shape_)) malformed();
    return layout_;
  }

 private:
  [[noreturn]] void malformed() const { fail("{}: the NPY header is malformed", path_); }

  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t' || text_.front() == '\n')) {
      text_.remove_prefix(1);
    }
  }
  bool peek(char c) {
    skip_blanks();
    return text_.starts_with(c);
  }
  void take(char c) {
    if (!peek(c)) malformed();
    text_.remove_prefix(1);
  }

  std::string quoted() {
    const char quote = peek('"') ? '"' : '\'';
    take(quote);
    const auto length = text_.find(quote);
    if (length == std::string_view::npos) malformed();
    const std::string result(text_.substr(0, length));
    text_.remove_prefix(length + 1);
    return result;
  }

  // '<f8': byte order, kind, bytes.
  ElementType element() {
    require(!peek('['), "{}: structured elements are not supported; expected one number type, such as '<f8'", path_);
    const std::string type = quoted();
    ElementType result;
    const bool ordered = type.size() >= 3 && std::string_view("<>|=").find(type[0]) != std::string_view::npos;
    if (ordered) {
      result.kind = type[1];
      result.big_endian = type[0] == '>';
      const auto [end, code] = std::from_chars(type.data() + 2, type.data() + type.size(), result.size);
      if (code == std::errc{} && end == type.data() + type.size() && converter<double>(result) != nullptr)
        return result;
    }
    fail("{}: elements of type '{}' are not supported (float32, float64 and integers are)", path_, shown(type));
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    malformed();
  }

  // (n,) is one column; (n, d) a table.
  void shape() {
    std::uint64_t sizes[2] = {0, 1};
    std::size_t dimensions = 0;
    take('(');
    while (!peek(')')) {
      std::uint64_t size = 0;
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (code != std::errc{}) malformed();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (text_.starts_with('L')) text_.remove_prefix(1);  // written by Python 2
      if (dimensions < 2) sizes[dimensions] = size;
      ++dimensions;
      if (!peek(')')) take(',');
    }
    take(')');
    require(dimensions == 1 || dimensions == 2, "{}: expected an array of 1 or 2 dimensions, found {}", path_,
            dimensions);
    layout_.rows = sizes[0];
    layout_.columns = sizes[1];
  }

  std::string_view text_;
  const std::string& path_;
  Layout layout_;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
};

Layout read_header(ByteInput& input) {
  const std::string& path = input.path();
  unsigned char magic[8], length[4];
  const std::size_t found = input.read(magic, sizeof magic);
  require(found >= 6 && std::string_view(reinterpret_cast<char*>(magic), 6) == "\x93NUMPY",
          "{}: not an NPY file: it does not begin with NumPy's mark", path);
  const auto whole = [&](bool condition) {
    require(condition, "{}: the file is truncated: its header is not whole", path);
  };
  whole(found == sizeof magic);
  require(magic[6] >= 1 && magic[6] <= 3, "{}: NPY version {}.{} is not known (1 to 3 are)", path, magic[6], magic[7]);
  const std::size_t length_bytes = magic[6] == 1 ? 2 : 4;
  whole(input.read(length, length_bytes) == length_bytes);
  std::uint64_t size = 0;
  for (std::size_t k = length_bytes; k-- > 0;) size = size << 8 | length[k];
  const std::uint64_t offset = sizeof magic + length_bytes + size;
  whole(input.compressed() || offset <= input.stored_size());
  require(size <= (1u << 20), "{}: an NPY header of {} bytes is too long", path, size);
  std::string text(size, '\0');
  whole(input.read(text.data(), text.size()) == text.size());
  Layout layout = HeaderParser(text, path).parse();
  layout.offset = offset;
  if (layout.columns == 1 || layout.rows == 1) layout.column_major = false;  // both orders are the same
  return layout;
}

}  // namespace

std::unique_ptr<TableReader> open_npy(const std::string& path, const ReadLimit& limit) {
  ByteInput input(path);
  const Layout layout = read_header(input);
  check_layout(layout, input);
  if (!input.compressed()) return std::make_unique<FileTable>(path, layout, limit);
  require(!layout.column_major, "{}: a Fortran-ordered array cannot be read row by row while packed; unpack it first",
          path);
  return std::make_unique<StreamedTable>(std::move(input), layout, limit);
}

}  // namespace carmina::data
