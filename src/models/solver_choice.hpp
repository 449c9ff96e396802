// models/solver_choice.hpp -- which solver a fit takes, by memory and by counting operations, and why.
#pragma once
#include "memory_plan.hpp"

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
  // much faster. The report says what was taken and why.
  bool use_direct(Index order, bool cg_is_faster = false) const;

  // The Gram matrix and a system of the given order against 300 products with the features.
  bool plain_cg_is_faster(Index features, Index order) const;
  // The Gram matrix against cg preconditioned by a subset of the rows, down to a relative residual of tol.
  bool preconditioned_cg_is_faster(Index features, double tol) const;
};

}  // namespace carmina
