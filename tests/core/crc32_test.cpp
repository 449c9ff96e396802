// tests/core/crc32_test.cpp -- the checksum against zlib's, in one piece and in pieces of every length.
#include "core/crc32.hpp"
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <vector>

namespace carmina {
namespace {

TEST(Crc32, EqualsThatOfZlib) {
  std::mt19937 random(0);
  std::vector<unsigned char> bytes(1000);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t first = 0; first < 9; ++first) {
      EXPECT_EQ(crc32(0, &bytes[first], size), ::crc32_z(0, &bytes[first], size)) << size;
    }
  }
  const auto whole = static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
  EXPECT_EQ(crc32(0, bytes.data(), bytes.size()), whole);
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 37) {
    EXPECT_EQ(crc32(crc32(0, bytes.data(), cut), &bytes[cut], bytes.size() - cut), whole);
  }
  EXPECT_EQ(crc32(7, nullptr, 0), 7U);
}

}  // namespace
}  // namespace carmina
