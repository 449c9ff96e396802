// random/philox.cpp -- Random's numbers from Random123's Philox.
#include <Random123/philox.h>
#include <carmina/random/philox.hpp>

#include <array>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

std::array<std::uint64_t, 2> words(std::uint64_t seed, std::uint32_t stream, std::uint64_t i, std::uint32_t j) {
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), j, stream}};
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const auto out = r123::Philox4x32()(counter, key);
  return {static_cast<std::uint64_t>(out[1]) << 32 | out[0], static_cast<std::uint64_t>(out[3]) << 32 | out[2]};
}

double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

}  // namespace

std::uint64_t Random::bits(std::uint64_t i, std::uint32_t j) const { return words(seed_, stream_, i, j)[0]; }

double Random::uniform(std::uint64_t i, std::uint32_t j) const { return unit(bits(i, j)); }

double Random::normal(std::uint64_t i, std::uint32_t j) const {
  const auto [first, second] = words(seed_, stream_, i, j);
  const double radius = std::sqrt(-2 * std::log1p(-unit(first)));  // 1 - u is in (0, 1]: the logarithm is finite
  return radius * std::cos(2 * std::numbers::pi * unit(second));
}

}  // namespace carmina
