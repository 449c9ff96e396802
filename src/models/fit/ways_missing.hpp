// models/fit/ways_missing.hpp -- what the ways for missing targets share: when they apply, and their sizes.
#pragma once
#include "models/fit/fit_task.hpp"
#include "solvers/linear/shifted_systems.hpp"

#include <algorithm>

namespace carmina {

inline bool missing_squared_fit(const FitTask& t) { return t.missing && t.squared && !t.path && t.folds == 0; }
// Coefficients of all outputs together.
inline double coupled_order(const FitTask& t) { return t.separable ? t.m * t.rank : t.order; }
inline bool fewer_targets(const FitTask& t) { return t.fourier() && t.separable && t.seen() < coupled_order(t); }

// Where `auto` takes cg in the place of a direct solution, to the precision of the products.
inline IterationOptions missing_limits(const FitTask& t, IterationOptions asked) {
  if (t.automatic()) asked.tol = std::min(asked.tol, t.scalar_bytes < 8 ? 1e-6 : 1e-11);
  return asked;
}

}  // namespace carmina
