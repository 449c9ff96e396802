// models/solver_choice.cpp -- predictions in operations; the constants are rough, from timings on one machine.
#include "solver_choice.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

bool SolverChoice::iterative_only() const {
  const std::string& name = options.solver;
  return name == "lsmr" || name == "idr" || name == "sgd" || name == "adam";
}

bool SolverChoice::use_direct(Index order, bool cg_is_faster, const PredictedTimes& times) const {
  const bool fits = plan.find("direct") != nullptr, cg_fits = plan.find("cg") != nullptr;
  const bool direct = fits && (!cg_fits || !cg_is_faster);
  report.solver = direct ? "direct" : "cg";
  if (options.solver != "auto") {
    report.reason = format_text("{}: asked for", report.solver);
  } else if (direct) {
    report.reason = format_text("direct: a matrix of order {} fits in memory", order);
    if (times.sample_rows > 0) {
      report.reason += format_text("; {:.2g} s predicted, {:.2g} s by cg", times.direct, times.cg);
    }
  } else if (!fits) {
    report.reason = format_text("cg: with a matrix of order {} the fit would need {}, the memory budget is {}", order,
                                format_bytes(plan.direct_bytes), format_bytes(plan.limit));
  } else if (times.sample_rows > 0) {
    report.reason = format_text("cg: {:.2g} s predicted, {:.2g} s for the factors of a matrix of order {}", times.cg,
                                times.direct, order);
  } else {
    report.reason = format_text("cg: faster than factoring a matrix of order {}, by the number of operations", order);
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

// Fits of less than half a second are not worth the choice, whose outcome may differ from run to run.
template <Real T>
PredictedTimes SolverChoice::predicted(const FourierMap<T>& map, double tol) const {
  const auto n = static_cast<double>(rows), m = static_cast<double>(map.n_features());
  if (options.solver != "auto" || n * m * m < 1e11) return {};
  return predict_times(map, rows, dim_out, std::min(options.tol, tol), options.alpha, options.execution);
}
template PredictedTimes SolverChoice::predicted(const FourierMap<float>&, double) const;
template PredictedTimes SolverChoice::predicted(const FourierMap<double>&, double) const;

}  // namespace carmina
