// models/solver_choice.cpp -- predictions in operations; the constants are rough, from timings on one machine.
#include "solver_choice.hpp"

#include "../solvers/subset_preconditioner.hpp"

#include <carmina/core/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace carmina {

double memory_limit(const Execution& execution) {
  if (execution.memory_budget > 0) return static_cast<double>(execution.memory_budget);
  return 0.8 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Rows read from the source together: an eighth of the budget, whole tiles, and short enough to show progress.
Index block_rows(Index columns, const Execution& execution) {
  const double allowed = std::min(memory_limit(execution) / 8, 256e6);
  return std::clamp<Index>(static_cast<Index>(allowed / (static_cast<double>(columns) * 24)) / 4096 * 4096, 4096,
                           1 << 16);
}

bool SolverChoice::iterative_only() const {
  const std::string& name = options.solver;
  return name == "lsmr" || name == "idr" || name == "sgd" || name == "adam";
}

bool SolverChoice::use_direct(Index order, double other_bytes, bool cg_is_faster) const {
  const double needed = 8.0 * static_cast<double>(order) * static_cast<double>(order) + other_bytes;
  const double limit = memory_limit(options.execution);
  const bool fits = needed <= limit;
  if (options.solver == "direct") {
    require(fits, "fit: solver 'direct' needs {} for a matrix of order {}, the memory budget is {}; use solver 'cg'",
            format_bytes(needed), order, format_bytes(limit));
  }
  const bool direct = options.solver == "direct" || (options.solver == "auto" && fits && !cg_is_faster);
  report.solver = direct ? "direct" : "cg";
  if (options.solver != "auto") {
    report.reason = fmt::format("{}: asked for", report.solver);
  } else if (direct) {
    report.reason = fmt::format("direct: a matrix of order {} fits in memory", order);
  } else if (!fits) {
    report.reason = fmt::format("cg: a matrix of order {} needs {}, the memory budget is {}", order,
                                format_bytes(needed), format_bytes(limit));
  } else {
    report.reason = fmt::format("cg: faster than factoring a matrix of order {}, by the number of operations", order);
  }
  return direct;
}

// A feature's evaluation counts as 20 operations of a product, and operations of products with few columns take about 8
// times as long as those of a factorisation.
bool SolverChoice::plain_cg_is_faster(Index features, Index order) const {
  const auto n = static_cast<double>(rows), m = static_cast<double>(features), c = static_cast<double>(order);
  const auto d = static_cast<double>(dim_in), p = static_cast<double>(dim_out);
  return n * m * m + c * c * c / 3 > 8 * 300 * n * m * (4 * p + 2 * d + 20);
}

// The preconditioner leaves about one iteration per half digit. One product costs as much as 40 + d + 8 p operations of
// the Gram matrix for each feature of each row; fits of less than a second are not worth the choice.
bool SolverChoice::preconditioned_cg_is_faster(Index features, double tol) const {
  using Subset = SubsetPreconditioner<FourierMap<double>>;
  const auto n = static_cast<double>(rows), m = static_cast<double>(features);
  if (!Subset::worthwhile(rows, features) || n * m * m < 2e11) return false;
  const auto d = static_cast<double>(dim_in), p = static_cast<double>(dim_out);
  const double products = 3 - 2.2 * std::log10(std::min(options.tol, tol));
  const double subset = (static_cast<double>(Subset::rows_per_feature) + 1.0 / 3) * m * m * m;
  return products * n * m * (40 + d + 8 * p) + subset < 0.8 * (n * m * m + m * m * m / 3);
}

}  // namespace carmina
