// models/solver_choice.hpp -- which solver a fit takes, by memory and by predicted times, and why.
#pragma once
#include "memory_plan.hpp"
#include "predicted_times.hpp"

#include <carmina/models/fit_options.hpp>
#include <carmina/solvers/report.hpp>

namespace carmina {

struct SolverChoice {
  const FitOptions& options;
  SolveReport& report;
  Index rows, dim_in, dim_out;
  const MemoryPlan& plan;  // of what fits

  // Solvers of solvers/iterative.hpp: of Fourier models alone, one form for every kernel.
  bool iterative_only() const;

  // "direct" unless the plan has no room for its matrix of the given order, cg was asked for, or cg is predicted to be
  // faster. The report says what was taken and why.
  bool use_direct(Index order, bool cg_is_faster = false, const PredictedTimes& times = {}) const;

  // The Gram matrix and a system of the given order against 300 products with the features.
  bool plain_cg_is_faster(Index features, Index order) const;
  // Of the Gram matrix and of cg preconditioned by a subset of the rows, down to a relative residual of tol; zero when
  // there is nothing to choose.
  template <Real T>
  PredictedTimes predicted(const FourierMap<T>& map, double tol) const;
};

}  // namespace carmina
