// core/crc32.cpp -- eight bytes at a time by tables: the remainder of a byte that k others follow is at(k)[byte].
#include "core/crc32.hpp"

#include <array>

namespace carmina {
namespace {

constexpr std::uint32_t polynomial = 0xEDB88320;  // bits reversed: the lowest is the highest power

using Table = std::array<std::uint32_t, 256>;
constexpr std::array<Table, 8> tables = [] {
  std::array<Table, 8> all{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest & 1 ? rest >> 1 ^ polynomial : rest >> 1;
    all[0][byte] = rest;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t rest = all[k - 1][byte];
      all[k][byte] = rest >> 8 ^ all[0][rest & 255];
    }
  }
  return all;
}();

std::uint32_t little_endian(const unsigned char* p) {
  return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}

}  // namespace

std::uint32_t crc32(std::uint32_t before, const void* data, std::size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint32_t rest = ~before;
  for (; size >= 8; size -= 8, p += 8) {
    const std::uint32_t low = rest ^ little_endian(p), high = little_endian(p + 4);
    rest = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
           tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
  }
  for (; size > 0; --size, ++p) rest = rest >> 8 ^ tables[0][(rest ^ *p) & 255];
  return ~rest;
}

}  // namespace carmina
