// models/solver_choice.cpp -- predictions in operations; the constants are rough, from timings on one machine.
#include "solver_choice.hpp"

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

bool SolverChoice::use_direct(Index order, double other_bytes, bool cg_is_faster, const PredictedTimes& times) const {
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
    if (times.sample_rows > 0) {
      report.reason += fmt::format("; {:.2g} s predicted, {:.2g} s by cg", times.direct, times.cg);
    }
  } else if (!fits) {
    report.reason = fmt::format("cg: a matrix of order {} needs {}, the memory budget is {}", order,
                                format_bytes(needed), format_bytes(limit));
  } else if (times.sample_rows > 0) {
    report.reason = fmt::format("cg: {:.2g} s predicted, {:.2g} s for the factors of a matrix of order {}", times.cg,
                                times.direct, order);
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

// Fits of less than a second are not worth the choice, whose outcome may differ from run to run.
template <Real T>
PredictedTimes SolverChoice::predicted(const FourierMap<T>& map, double tol) const {
  const auto n = static_cast<double>(rows), m = static_cast<double>(map.n_features());
  if (options.solver != "auto" || n * m * m < 2e11) return {};
  return predict_times(map, rows, dim_out, std::min(options.tol, tol), options.execution);
}
template PredictedTimes SolverChoice::predicted(const FourierMap<float>&, double) const;
template PredictedTimes SolverChoice::predicted(const FourierMap<double>&, double) const;

}  // namespace carmina
