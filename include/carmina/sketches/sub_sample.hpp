// sketches/sub_sample.hpp -- rows of the data as they are: Nyström's approximation.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/random/philox.hpp>
#include <carmina/sketches/sketch.hpp>
#include <cstdint>

namespace carmina::sketches {

// Without weights, s different rows, all sets equally likely: S_ij = sqrt(n / s) where row j is the i-th chosen one.
// With weights, s draws with replacement, row j with probability q_j in proportion to its weight: S_ij = 1 / sqrt(s
// q_j).
struct SubSample {
  static constexpr const char* name = "sub_sample";
  static constexpr bool needs_data = false;
  Index n_components;
  Vector<double> weights;  // (n), or empty

  explicit SubSample(Index n_components = 100, Vector<double> weights = {});

  Sketch sample(Index n, std::uint64_t seed, const Execution& execution = {}) const;
  bool operator==(const SubSample& other) const;
};

// What SubSample does with weights, for weights that come from elsewhere; `owner` is whom an error names.
Sketch draw_rows(const char* owner, const Vector<double>& weights, Index draws, const Random& random);
// s different rows of n, ascending, in O(s) steps.
std::vector<Index> choose_rows(Index n, Index s, const Random& random);

}  // namespace carmina::sketches
