// sketches/distribution.hpp -- the sketches to choose from, and any one of them by its name.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/data/input_transform.hpp>
#include <carmina/kernels/scalar_kernel.hpp>
#include <carmina/random/philox.hpp>
#include <carmina/sketches/sketch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace carmina::sketches {

// Rows of the data as they are: Nyström's approximation.
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

// Sketches without zeros: every row of the data is an anchor, and a model keeps them all.
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

// Sketches with few entries, drawn one entry at a time: p-SR, p-SG, accumulation, CountSketch.
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

// Sub-sampling that looks at the data: rows that matter to the kernel are likelier.
// Draws with replacement in proportion to approximate ridge leverage scores, the diagonal of K (K + alpha I)^-1, alpha
// as in the fit. The scores come from s rows chosen at random, in O(n s^2) steps.
struct LeverageScores {
  static constexpr const char* name = "leverage_scores";
  static constexpr bool needs_data = true;
  Index n_components;
  double alpha;

  explicit LeverageScores(Index n_components = 100, double alpha = 1.0);

  // X (n, d) before the transform.
  template <Real T>
  Sketch sample(Index n, std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
                const InputTransform& transform = {}, const Execution& execution = {}) const;
  template <Real T>
  Vector<double> scores(std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
                        const InputTransform& transform = {}, const Execution& execution = {}) const;
  bool operator==(const LeverageScores&) const = default;
};

// [Chen2022], randomly pivoted Cholesky: each row is drawn in proportion to what the rows before it leave of the
// kernel's diagonal. O(n s^2) steps and n s numbers of memory. The mixing is the identity: the rows follow from one
// another, so there are no probabilities to divide by, and the approximation of K does not depend on scales. Fewer than
// s rows where these already give K to rounding.
struct PivotedCholesky {
  static constexpr const char* name = "pivoted_cholesky";
  static constexpr bool needs_data = true;
  Index n_components;

  explicit PivotedCholesky(Index n_components = 100);

  template <Real T>
  Sketch sample(Index n, std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
                const InputTransform& transform = {}, const Execution& execution = {}) const;
  bool operator==(const PivotedCholesky&) const = default;
};

// The registry of sketches. Each but PivotedCholesky has E[Sᵀ S] = I.
using Distribution = std::variant<SubSample, Gaussian, SparseRademacher, SparseGaussian, Accumulation, CountSketch,
                                  Hadamard, LeverageScores, PivotedCholesky>;

// What a sketch has besides n_components, by name: density, m, alpha, weights.
using Parameters = std::map<std::string, std::vector<double>>;

// By name in snake case; parameters that are not given take their defaults. Error, with what there is, for an unknown
// sketch or parameter.
Distribution make_sketch(const std::string& name, Index n_components, const Parameters& parameters = {});
std::vector<std::string> sketch_names();
std::string sketch_name(const Distribution& distribution);
Index n_components(const Distribution& distribution);
Parameters sketch_parameters(const Distribution& distribution);  // those that are set: make_sketch takes them back
bool needs_data(const Distribution& distribution);

// A sketch over the rows of X (n, d), which only those that need data look at.
template <Real T>
Sketch sample(const Distribution& distribution, std::uint64_t seed, ConstView<T> X, const ScalarKernel& kernel,
              const InputTransform& transform = {}, const Execution& execution = {});
// The same without data; Error for those that need it.
Sketch sample(const Distribution& distribution, Index n, std::uint64_t seed, const Execution& execution = {});

}  // namespace carmina::sketches
