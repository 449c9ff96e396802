// random/philox.hpp -- random numbers as a function of (seed, stream, i, j): the same on any number of threads.
#pragma once
#include <cstdint>

namespace carmina {

// What a stream of one seed is used for. Streams of the same seed are independent.
enum class Stream : std::uint32_t {
  frequencies = 0,
  split = 1,
  rows = 2,  // choosing rows, for instance for the median heuristic
  data = 3,  // generators of data sets
  noise = 4,
  shadow = 5,   // the shadow space of IDR(s)
  batches = 6,  // the order of rows in mini-batches
  sketch = 7,
};

// Philox4x32-10 (Random123): the counter is (i, j, stream), the key is the seed. Nothing is kept between calls.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint32_t stream = 0) : seed_(seed), stream_(stream) {}
  Random(std::uint64_t seed, Stream stream) : Random(seed, static_cast<std::uint32_t>(stream)) {}

  std::uint64_t bits(std::uint64_t i, std::uint32_t j = 0) const;
  double uniform(std::uint64_t i, std::uint32_t j = 0) const;  // in [0, 1), 53 bits
  double normal(std::uint64_t i, std::uint32_t j = 0) const;   // N(0, 1), Box and Muller
  double gamma(double shape, std::uint64_t i) const;           // Gamma(shape, rate 1), by rejection

  // Another stream of the same seed, for instance for the k-th term of a sum of kernels. Streams up to 255 are
  // purposes.
  Random child(std::uint32_t k) const { return Random(seed_, stream_ + ((k + 1) << 8)); }

 private:
  std::uint64_t seed_;
  std::uint32_t stream_;
};

}  // namespace carmina
