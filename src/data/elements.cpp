// data/elements.cpp -- conversion of every element type to double, and the streamed reader.
#include "data/elements.hpp"
#include "data/text_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace carmina::data {

namespace {

template <class T, bool big_endian, class To>
void convert(const char* from, Index from_step, Index count, To* to, Index to_step) {
  constexpr bool swap = big_endian != (std::endian::native == std::endian::big);
  if (!swap && from_step == sizeof(T) && to_step == 1) {
    for (Index k = 0; k < count; ++k) {  // steps that the compiler knows: vector instructions
      T value;
      std::memcpy(&value, from + k * static_cast<Index>(sizeof(T)), sizeof(T));
      to[k] = static_cast<To>(value);
    }
    return;
  }
  for (Index k = 0; k < count; ++k) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, from + k * from_step, sizeof(T));
    if constexpr (swap) std::reverse(bytes, bytes + sizeof(T));
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    to[k * to_step] = static_cast<To>(value);
  }
}

template <bool big_endian, class To>
Convert<To> choose(char kind, std::size_t size) {
  switch (kind) {
    case 'f':
      return size == 4 ? convert<float, big_endian, To> : size == 8 ? convert<double, big_endian, To> : nullptr;
    case 'i':
      return size == 1   ? convert<std::int8_t, big_endian, To>
             : size == 2 ? convert<std::int16_t, big_endian, To>
             : size == 4 ? convert<std::int32_t, big_endian, To>
             : size == 8 ? convert<std::int64_t, big_endian, To>
                         : nullptr;
    case 'u':
      return size == 1   ? convert<std::uint8_t, big_endian, To>
             : size == 2 ? convert<std::uint16_t, big_endian, To>
             : size == 4 ? convert<std::uint32_t, big_endian, To>
             : size == 8 ? convert<std::uint64_t, big_endian, To>
                         : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

template <class To>
Convert<To> converter(ElementType type) {
  return type.big_endian ? choose<true, To>(type.kind, type.size) : choose<false, To>(type.kind, type.size);
}
template Convert<float> converter(ElementType);
template Convert<double> converter(ElementType);

bool fits_float(ElementType type) { return type.kind == 'f' ? type.size == 4 : type.size <= 2; }

void check_layout(const Layout& layout, const ByteInput& input) {
  const std::string& path = input.path();
  require(layout.rows > 0, "{}: the table has no rows", path);
  require(layout.columns > 0, "{}: a table without columns", path);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
  require(layout.columns <= most / layout.element.size / layout.rows,
          "{}: a table of {} x {} elements is larger than any file", path, layout.rows, layout.columns);
  if (input.compressed()) return;
  const std::uint64_t found = input.stored_size() - std::min(layout.offset, input.stored_size());
  require(found >= layout.bytes(), "{}: the file is truncated: {} x {} elements need {} bytes, found {}", path,
          layout.rows, layout.columns, layout.bytes(), found);
}

StreamedTable::StreamedTable(ByteInput input, const Layout& layout, const ReadLimit& limit)
    : input_(std::move(input)), layout_(layout) {
  check_layout(layout_, input_);
  const std::uint64_t row = layout_.columns * layout_.element.size;
  limit.require_room(static_cast<double>(row), format_text("a row of {} elements", layout_.columns), path());
  if (input_.compressed()) {  // what a packed file holds is known when it is unpacked: its first row, piece by piece
    input_.skip_to(layout_.offset);
    std::vector<char> piece(std::min<std::uint64_t>(row, 1 << 16));
    for (std::uint64_t seen = 0; seen < row; seen += piece.size()) {
      const std::size_t wanted = std::min<std::uint64_t>(piece.size(), row - seen);
      require(input_.read(piece.data(), wanted) == wanted,
              "{}: the file is truncated: {} rows were expected, the data end in row 1", path(), layout_.rows);
    }
  }
  columns_ = numbered_columns(layout_.columns, path(), limit);
  rewind();
}

template <class To>
Index StreamedTable::read_as(View<To> out) {
  first_ = at_;
  const Index count = std::min(out.rows(), static_cast<Index>(layout_.rows) - at_);
  const Convert<To> to_cells = converter<To>(layout_.element);
  const std::size_t row = layout_.columns * layout_.element.size;
  const Index step = std::max<Index>(1, static_cast<Index>((std::size_t{1} << 18) / row));
  rows_.resize(static_cast<std::size_t>(std::min(step, std::max<Index>(count, 1))) * row);
  for (Index done = 0; done < count;) {
    const Index part = std::min(step, count - done);
    const std::size_t wanted = static_cast<std::size_t>(part) * row, bytes = input_.read(rows_.data(), wanted);
    require(bytes == wanted, "{}: the file is truncated: {} rows were expected, the data end in row {}", path(),
            layout_.rows, at_ + static_cast<Index>(bytes / row) + 1);
    for (Index i = 0; i < part; ++i, ++done, ++at_) {
      to_cells(rows_.data() + static_cast<std::size_t>(i) * row, static_cast<Index>(layout_.element.size),
               static_cast<Index>(layout_.columns), out.data() + done * out.outerStride(), 1);
    }
  }
  return count;
}
template Index StreamedTable::read_as(View<float>);
template Index StreamedTable::read_as(View<double>);

void StreamedTable::rewind() {
  input_.skip_to(layout_.offset);
  first_ = at_ = 0;
}

}  // namespace carmina::data
