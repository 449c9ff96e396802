// models/solver_choice.hpp -- which solver a fit takes, by memory and by predicted times, and why.
#pragma once
#include "predicted_times.hpp"

#include <carmina/models/fit_options.hpp>
#include <carmina/solvers/report.hpp>

namespace carmina {

// Bytes that may be used: the budget, or most of the machine's memory.
double memory_limit(const Execution& execution);

// Rows read from the source together: an eighth of the budget, whole tiles, and short enough to show progress.
Index block_rows(Index columns, const Execution& execution);

struct SolverChoice {
  const FitOptions& options;
  SolveReport& report;
  Index rows, dim_in, dim_out;

  // Solvers of solvers/iterative.hpp: of Fourier models alone, one form for every kernel.
  bool iterative_only() const;

  // "direct" unless its matrix of the given order does not fit, cg was asked for, or cg is predicted to be much faster.
  // Error when direct was asked for and does not fit. The report says what was taken and why.
  bool use_direct(Index order, double other_bytes, bool cg_is_faster = false, const PredictedTimes& times = {}) const;

  // The Gram matrix and a system of the given order against 300 products with the features.
  bool plain_cg_is_faster(Index features, Index order) const;
  // Of the Gram matrix and of cg preconditioned by a subset of the rows, down to a relative residual of tol; zero when
  // there is nothing to choose.
  template <Real T>
  PredictedTimes predicted(const FourierMap<T>& map, double tol) const;
};

}  // namespace carmina
