// core/crc32.hpp -- the checksum of model files: CRC-32 of ISO-HDLC, that of zlib and gzip.
#pragma once
#include <cstddef>
#include <cstdint>

namespace carmina {

// Of the bytes that `before` is the checksum of (0: none), and these after them.
std::uint32_t crc32(std::uint32_t before, const void* data, std::size_t size);

}  // namespace carmina
