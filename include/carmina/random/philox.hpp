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
  mixture_draws = 40,    // points of spectral mixtures while they are learnt
  mixture_starts = 41,   // the mixtures that learning starts from
  allocation = 42,       // pairs of rows by which frequencies are allocated to the components of a mixture
  evidence_rows = 43,    // the rows that a kernel is learnt from
  mixture_factors = 44,  // the factors of outputs that learning starts from
  mixture_phases = 45,
  posterior_draws = 46,  // functions drawn from a posterior
};

// Philox4x32-10 (Random123): the counter is (i, j, stream), the key is the seed. Nothing is kept between calls.
//
// Streams form a tree. The root of (seed, purpose) has the seed itself as its key; the k-th child of a node has the
// node's purpose and, as its key, 64 bits that Philox makes of the node's key, its purpose and k. Keys are thus a hash
// of the whole path, in order: child(a).child(b) is not child(b).child(a), and of N streams two coincide with
// probability about N^2 / 2^65. Purposes lie below 2^31 - 1: the highest bit marks the stream of gamma(), and the
// largest number the counters that keys come from, so that no number of a stream is ever the key of another.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint32_t stream = 0) : key_(seed), stream_(stream) {}
  Random(std::uint64_t seed, Stream stream) : Random(seed, static_cast<std::uint32_t>(stream)) {}

  std::uint64_t bits(std::uint64_t i, std::uint32_t j = 0) const;
  double uniform(std::uint64_t i, std::uint32_t j = 0) const;  // in [0, 1), 53 bits
  double normal(std::uint64_t i, std::uint32_t j = 0) const;   // N(0, 1), Box and Muller
  double gamma(double shape, std::uint64_t i) const;           // Gamma(shape, rate 1), by rejection

  // A stream of its own, for instance for the k-th term of a sum of kernels; it has children in turn.
  Random child(std::uint32_t k) const;

 private:
  std::uint64_t key_;
  std::uint32_t stream_;
};

}  // namespace carmina
