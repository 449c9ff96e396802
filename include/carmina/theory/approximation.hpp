// theory/approximation.hpp -- the error and the cost of a Fourier map, measured.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/kernels/kernel.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace carmina::theory {

// Spectral norms of K~(delta) - K_0(delta), one per row of deltas. `frequencies` are those of a map, the kernel's terms
// one after the other: FourierMap::frequencies, sample_term_frequencies.
Vector<double> block_errors(const Kernel& kernel, const Matrix<double>& frequencies, ConstView<double> deltas,
                            const Execution& execution = {});

struct KernelError {
  double max = 0, rms = 0;  // over the pairs, absolute
  Index pairs = 0;
};
// Over every row of X with every row of Z.
KernelError kernel_error(const Kernel& kernel, const Matrix<double>& frequencies, ConstView<double> X,
                         ConstView<double> Z, const Execution& execution = {});

struct ReportOptions {
  Index pairs = 2000;        // random pairs of different rows
  double tolerance = 0;      // an error that would do; 0: a twentieth of the kernel's norm at distance 0
  double confidence = 0.95;  // of the intervals
  std::uint64_t seed = 0;    // of the pairs
};

struct Interval {
  double low, high;
};

// What is said holds for these frequencies, over all pairs of different rows of X: the pairs measured are a random
// sample of them, and the intervals cover what that sample leaves open.
struct ApproximationReport {
  Index rows, pairs, n_components;
  double confidence;
  double kernel_norm;  // ||K_0(0)||
  double rms_error;
  Interval rms_interval;  // normal approximation for the mean square
  double max_error;       // over the pairs measured
  double tolerance;
  double within;                     // share of pairs with an error of at most `tolerance`
  Interval within_interval;          // Clopper and Pearson: exact coverage or more
  Index n_components_to_halve;       // the error falls as n_components^(-1/2)
  Index n_components_for_tolerance;  // root mean square error = tolerance
  std::string text;
};
ApproximationReport approximation_report(const Kernel& kernel, const Matrix<double>& frequencies, ConstView<double> X,
                                         const ReportOptions& options = {}, const Execution& execution = {});

// An interval for the chance of an event seen `hits` times in `trials`, whose coverage is never below `confidence`.
Interval clopper_pearson(Index hits, Index trials, double confidence);

// What the operators of a Fourier model cost, measured: P (predict), its adjoint P*, and P*P.

// [Brault2016, Tables 1 and 2] gives P theta = Phi(X)* theta, P* Y and P*P theta for one row; here seconds for all rows
// of X, best of some repetitions. P*P is P*(P theta), never a matrix of size D^2, and its formulas in Table 1 for
// differential kernels replace <w_j, w_k> by |w_k|^2.
struct OperatorCost {
  double apply, adjoint, normal;  // seconds
  std::size_t stored;             // bytes of frequencies and factors that a model keeps; solvers hold a second copy
};
OperatorCost operator_cost(const Kernel& kernel, Index n_components, ConstView<double> X, int repetitions = 5,
                           const Execution& execution = {});

}  // namespace carmina::theory
