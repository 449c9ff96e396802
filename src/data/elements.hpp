// data/elements.hpp -- the numbers of binary files: their types, and rows of them read from a stream.
#pragma once
#include "data/byte_input.hpp"
#include "data/read_limit.hpp"

#include <carmina/data/table.hpp>

#include <cstdint>

namespace carmina::data {

struct ElementType {
  char kind = 'f';  // f: floating point, i: signed, u: unsigned
  std::size_t size = 8;
  bool big_endian = false;
};

// to[k * to_step] = the element `from_step` bytes after the one before it, k = 0 .. count - 1; need not be
// aligned.
template <class To>
using Convert = void (*)(const char* from, Index from_step, Index count, To* to, Index to_step);
template <class To>
Convert<To> converter(ElementType type);  // null when there is no such type

// Whether float holds every number of the type.
bool fits_float(ElementType type);

// What a binary header tells: where the elements begin, and how they make a table.
struct Layout {
  ElementType element;
  std::uint64_t offset = 0, rows = 0, columns = 0;  // offset in bytes
  bool column_major = false;

  std::uint64_t bytes() const { return rows * columns * element.size; }
};

// Refuses a table that is empty, whose size overflows, or, in a file that is not packed, larger than the
// file.
void check_layout(const Layout& layout, const ByteInput& input);

// Row-major rows from a stream, packed or not.
class StreamedTable final : public TableReader {
 public:
  StreamedTable(ByteInput input, const Layout& layout, const ReadLimit& limit);

  const std::string& path() const override { return input_.path(); }
  const std::vector<Column>& columns() const override { return columns_; }
  std::optional<Index> rows() const override { return static_cast<Index>(layout_.rows); }
  Index read(View<double> out) override { return read_as<double>(out); }
  bool fits_float() const override { return carmina::data::fits_float(layout_.element); }
  Index read_floats(View<float> out) override { return read_as<float>(out); }
  void rewind() override;
  Index position(Index row) const override { return first_ + row; }
  std::string place_at(Index position) const override { return format_text("{}: row {}", path(), position + 1); }

 private:
  template <class To>
  Index read_as(View<To> out);
  ByteInput input_;
  Layout layout_;
  std::vector<Column> columns_;
  std::vector<char> rows_;    // some, as they are in the file
  Index first_ = 0, at_ = 0;  // rows read before the last block, and after it
};

}  // namespace carmina::data
