// sketches/adaptive.hpp -- sub-sampling that looks at the data: rows that matter to the kernel are likelier.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/features/input_transform.hpp>
#include <carmina/kernels/scalar_kernel.hpp>
#include <carmina/sketches/sketch.hpp>
#include <cstdint>

namespace carmina::sketches {

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

}  // namespace carmina::sketches
