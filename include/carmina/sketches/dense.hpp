// sketches/dense.hpp -- sketches without zeros: every row of the data is an anchor, and a model keeps them all.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/sketches/sketch.hpp>
#include <cstdint>

namespace carmina::sketches {

// Entries N(0, 1 / s).
struct Gaussian {
  static constexpr const char* name = "gaussian";
  static constexpr bool needs_data = false;
  Index n_components;

  explicit Gaussian(Index n_components = 100);

  Sketch sample(Index n, std::uint64_t seed, const Execution& execution = {}) const;
  bool operator==(const Gaussian&) const = default;
};

// The subsampled randomised Hadamard transform: s different rows of the Hadamard matrix of order n' = 2^ceil(log2 n),
// its first n columns, times random signs, over sqrt(s).
struct Hadamard {
  static constexpr const char* name = "hadamard";
  static constexpr bool needs_data = false;
  Index n_components;

  explicit Hadamard(Index n_components = 100);

  Sketch sample(Index n, std::uint64_t seed, const Execution& execution = {}) const;
  bool operator==(const Hadamard&) const = default;
};

}  // namespace carmina::sketches
