// random/philox.cpp -- Random's numbers from Random123's Philox.
#include <Random123/philox.h>
#include <carmina/random/philox.hpp>

#include <array>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

constexpr std::uint32_t gamma_bit = 0x80000000u, keys_of_children = 0xffffffffu;

std::array<std::uint64_t, 2> words(std::uint64_t key, std::uint32_t stream, std::uint64_t i, std::uint32_t j) {
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), j, stream}};
  const r123::Philox4x32::key_type halves = {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  const auto out = r123::Philox4x32()(counter, halves);
  return {static_cast<std::uint64_t>(out[1]) << 32 | out[0], static_cast<std::uint64_t>(out[3]) << 32 | out[2]};
}

double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

}  // namespace

Random Random::child(std::uint32_t k) const {
  const std::uint64_t which = static_cast<std::uint64_t>(stream_) << 32 | k;
  return Random(words(key_, keys_of_children, which, 0)[0], stream_);
}

std::uint64_t Random::bits(std::uint64_t i, std::uint32_t j) const { return words(key_, stream_, i, j)[0]; }

double Random::uniform(std::uint64_t i, std::uint32_t j) const { return unit(bits(i, j)); }

double Random::normal(std::uint64_t i, std::uint32_t j) const {
  const auto [first, second] = words(key_, stream_, i, j);
  const double radius = std::sqrt(-2 * std::log1p(-unit(first)));  // 1 - u is in (0, 1]: the logarithm is finite
  return radius * std::cos(2 * std::numbers::pi * unit(second));
}

// Marsaglia and Tsang's method: d (1 + z / sqrt(9 d))^3 with d = shape - 1/3, accepted by its density; attempt a takes
// its numbers from indices (i, 2a) and (i, 2a + 1) of a stream of its own. A shape below 1 is reached by a power of a
// uniform.
double Random::gamma(double shape, std::uint64_t i) const {
  const Random own = Random(key_, stream_ | gamma_bit);
  if (shape < 1) return gamma(shape + 1, i) * std::pow(1 - own.uniform(i, 0x7fffffffu), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint32_t attempt = 0;; ++attempt) {
    const double z = own.normal(i, 2 * attempt), v = std::pow(1 + c * z, 3);
    if (v <= 0) continue;
    if (std::log1p(-own.uniform(i, 2 * attempt + 1)) < z * z / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace carmina
