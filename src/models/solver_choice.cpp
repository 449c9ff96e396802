// models/solver_choice.cpp -- predictions in operations; the constants are rough, from timings on one machine.
#include "solver_choice.hpp"

#include "../solvers/subset_preconditioner.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

bool SolverChoice::iterative_only() const {
  const std::string& name = options.solver;
  return name == "lsmr" || name == "idr" || name == "sgd" || name == "adam";
}

bool SolverChoice::use_direct(Index order, bool cg_is_faster) const {
  const bool fits = plan.find("direct") != nullptr, cg_fits = plan.find("cg") != nullptr;
  const bool direct = fits && (!cg_fits || !cg_is_faster);
  report.solver = direct ? "direct" : "cg";
  if (options.solver != "auto") {
    report.reason = fmt::format("{}: asked for", report.solver);
  } else if (direct) {
    report.reason = fmt::format("direct: a matrix of order {} fits in memory", order);
  } else if (!fits) {
    report.reason = fmt::format("cg: with a matrix of order {} the fit would need {}, the memory budget is {}", order,
                                format_bytes(plan.direct_bytes), format_bytes(plan.limit));
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
