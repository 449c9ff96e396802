// sketches/sparse.hpp -- sketches with few entries, drawn one entry at a time: p-SR, p-SG, accumulation, CountSketch.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/sketches/sketch.hpp>
#include <cstdint>
#include <optional>

namespace carmina::sketches {

// Entries that a row of a sparse sketch has on average when nothing is said: the density is 20 / n, or 1 when n is
// less, as in the experiments of [ElAhmad2023]; Accumulation's 20 draws cost the same.
constexpr Index usual_entries = 20;

// [ElAhmad2023, Definition 5], p-SR: each entry is there with probability p, then +-1 / sqrt(s p).
struct SparseRademacher {
  static constexpr const char* name = "sparse_rademacher";
  static constexpr bool needs_data = false;
  Index n_components;
  std::optional<double> density;  // p in (0, 1]; none: usual_entries / n

  explicit SparseRademacher(Index n_components = 100, std::optional<double> density = {});

  Sketch sample(Index n, std::uint64_t seed, const Execution& execution = {}) const;
  bool operator==(const SparseRademacher&) const = default;
};

// p-SG: each entry is there with probability p, then N(0, 1) / sqrt(s p).
struct SparseGaussian {
  static constexpr const char* name = "sparse_gaussian";
  static constexpr bool needs_data = false;
  Index n_components;
  std::optional<double> density;

  explicit SparseGaussian(Index n_components = 100, std::optional<double> density = {});

  Sketch sample(Index n, std::uint64_t seed, const Execution& execution = {}) const;
  bool operator==(const SparseGaussian&) const = default;
};

// The sum of m sub-samplings with random signs: each row adds +-sqrt(n / (s m)) at m columns drawn with replacement.
struct Accumulation {
  static constexpr const char* name = "accumulation";
  static constexpr bool needs_data = false;
  Index n_components, m;

  explicit Accumulation(Index n_components = 100, Index m = usual_entries);

  Sketch sample(Index n, std::uint64_t seed, const Execution& execution = {}) const;
  bool operator==(const Accumulation&) const = default;
};

// Each column has one entry, +-1, in a row drawn at random. Every row of the data is an anchor.
struct CountSketch {
  static constexpr const char* name = "count_sketch";
  static constexpr bool needs_data = false;
  Index n_components;

  explicit CountSketch(Index n_components = 100);

  Sketch sample(Index n, std::uint64_t seed, const Execution& execution = {}) const;
  bool operator==(const CountSketch&) const = default;
};

}  // namespace carmina::sketches
