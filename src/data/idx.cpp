// data/idx.cpp -- the format of the MNIST files: a type, the dimensions, then big-endian elements, row-major.
#include "data/elements.hpp"
#include "data/readers.hpp"

namespace carmina::data {

namespace {

std::optional<ElementType> element_of_code(unsigned code) {
  switch (code) {
    case 0x08:
      return ElementType{'u', 1, true};
    case 0x09:
      return ElementType{'i', 1, true};
    case 0x0B:
      return ElementType{'i', 2, true};
    case 0x0C:
      return ElementType{'i', 4, true};
    case 0x0D:
      return ElementType{'f', 4, true};
    case 0x0E:
      return ElementType{'f', 8, true};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<TableReader> open_idx(const std::string& path, const ReadLimit& limit) {
  ByteInput input(path);
  unsigned char magic[4];
  require(input.read(magic, 4) == 4, "{}: the file is truncated: its header is not whole", path);
  require(magic[0] == 0 && magic[1] == 0, "{}: not an IDX file: it does not begin with two zero bytes", path);
  const auto element = element_of_code(magic[2]);
  require(element.has_value(), "{}: not an IDX file: the element type 0x{:02x} is not known", path, magic[2]);
  require(magic[3] >= 1, "{}: an IDX table needs at least one dimension, found 0", path);

  // The first dimension counts rows; the others are flattened into columns.
  Layout layout{.element = *element, .offset = 4 + 4 * std::uint64_t{magic[3]}, .rows = 0, .columns = 1};
  for (unsigned k = 0; k < magic[3]; ++k) {
    unsigned char bytes[4];
    require(input.read(bytes, 4) == 4, "{}: the file is truncated: its header is not whole", path);
    std::uint64_t size = 0;
    for (const unsigned char byte : bytes) size = size << 8 | byte;
    if (k == 0) {
      layout.rows = size;
    } else {
      require(size == 0 || layout.columns <= (std::uint64_t{1} << 40) / size,
              "{}: the dimensions are larger than any file", path);
      layout.columns *= size;
    }
  }
  return std::make_unique<StreamedTable>(std::move(input), layout, limit);
}

}  // namespace carmina::data
