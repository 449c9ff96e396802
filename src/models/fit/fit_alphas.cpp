// models/fit/fit_alphas.cpp -- a fit for many alphas at once: one posed problem, one decomposition, all solutions.
#include "models/fit/fit_pipeline.hpp"
#include "models/fit/pattern_problems.hpp"
#include "models/fit/ways.hpp"
#include "solvers/squared/masked.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <limits>
#include <memory>

namespace carmina {

template <Real T>
MachinePath<T> FitPipeline<T>::run_path(const std::vector<double>& alphas, bool leave_one_out) {
  require(task.squared, "path: it is for the squared loss, found loss '{}'", loss_name(options.loss));
  require_factors(task, "path");
  require(!options.by_evidence, "path: alpha is chosen in one way, found 'evidence' too");
  require(!alphas.empty(), "path: the list of alphas is empty");
  for (const double alpha : alphas) {
    require(alpha > 0 && std::isfinite(alpha), "path: alphas must be positive and finite, found {}", alpha);
  }
  require(!task.sketch || task.separable,
          "path: a sketch of a kernel that is not separable has none; use approximation 'fourier' or 'exact'");
  task.path = true;
  task.leave_one_out = leave_one_out;
  prepare();
  require(!leave_one_out || summary.rows > 1, "path: leaving one row out takes at least 2 rows, found {}",
          summary.rows);
  const PlannedWay planned = plan_.ways[0];
  adopt(planned);
  report.reason = format_text("direct: {} alphas from one decomposition", alphas.size());
  const std::string reason = report.reason;
  PosedProblem<T> posed = static_cast<const Way<T>&>(*planned.way).pose(*this);
  report.reason = reason;
  const AlphaPathProblem ridge{outputs, alphas, options.fit_intercept, leave_one_out};
  std::vector<AlphaPathSolution> found;
  if (task.missing) {
    const SolvePattern<T> solve = [&](PatternProblem<T>& part) {
      PhaseTimer timer(part.fit.report, "solve");
      const AlphaPathProblem own{part.fit.outputs, alphas, options.fit_intercept, leave_one_out};
      return part.sums ? primal_path(*part.features, *part.sums, nullptr, own, execution)
                       : dual_path(std::move(part.posed.K), part.posed.dual, own, execution);
    };
    found = task.patterns_apart ? solve_patterns(*this, posed, solve)
                                : masked_dual_path(std::move(posed.K), posed.dual, ridge, execution);
  } else if (posed.primal()) {
    const auto features = posed.features(rows);
    const Moments sums = sum(*features);
    PhaseTimer timer(report, "solve");
    found = primal_path(*features, sums, posed.expansion ? &*posed.expansion : nullptr, ridge, execution);
    if (options.alpha_by && options.estimate_noise) path_sums_ = sums;
  } else {
    PhaseTimer timer(report, "solve");
    found = task.separable ? dual_path(std::move(posed.K), posed.dual, ridge, execution)
                           : dual_blocks_path(std::move(posed.K), posed.dual, ridge, execution);
  }
  if (posed.to_map) {  // all solutions side by side
    const Index q = found[0].solution.coefficients.cols(), n = found[0].solution.coefficients.rows();
    Matrix<double> C(n, q * static_cast<Index>(found.size()));
    for (std::size_t i = 0; i < found.size(); ++i) {
      C.middleCols(static_cast<Index>(i) * q, q) = found[i].solution.coefficients;
    }
    const Matrix<double> theta = posed.to_map(C);
    const Index rank = theta.cols() / static_cast<Index>(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i].solution.coefficients = theta.middleCols(static_cast<Index>(i) * rank, rank);
    }
  }
  std::vector<PathPoint> points;
  std::vector<LinearSolution> solutions;
  const double weight = summary.weight;
  const double targets = task.missing ? summary.target_weight.sum() : weight * static_cast<double>(rows.dim_out());
  for (AlphaPathSolution& one : found) {
    PathPoint point{one.alpha, one.squares / (2 * weight), one.degrees_of_freedom,
                    std::numeric_limits<double>::infinity(), std::nullopt};
    const double left = 1 - one.degrees_of_freedom / targets;
    if (left > 0) point.gcv = point.training_loss / (left * left);
    if (one.left_out) point.leave_one_out = *one.left_out / (2 * weight);
    points.push_back(point);
    solutions.push_back(std::move(one.solution));
  }
  MachinePath<T> path{finish(path_sums_ ? posed.map : std::move(posed.map), solutions[0]), std::move(points),
                      std::make_shared<const std::vector<LinearSolution>>(std::move(solutions))};
  path_way_ = static_cast<const Way<T>*>(planned.way);
  if (path_sums_) path_problem_ = std::move(posed);
  return path;
}

// One more factorisation. The matrix of a dual problem was overwritten and is made again.
template <Real T>
void FitPipeline<T>::leave_out_at(double alpha) {
  if (!options.estimate_noise || !task.apart()) return;
  if (!path_problem_) path_problem_ = path_way_->pose(*this);
  solve_posed(*this, *path_problem_, path_sums_ ? &*path_sums_ : nullptr, alpha);
}
template void FitPipeline<float>::leave_out_at(double);
template void FitPipeline<double>::leave_out_at(double);
template MachinePath<float> FitPipeline<float>::run_path(const std::vector<double>&, bool);
template MachinePath<double> FitPipeline<double>::run_path(const std::vector<double>&, bool);

}  // namespace carmina
