// models/fit/pattern_problems.cpp -- the rows of each pattern, and its solution among the others.
#include "models/fit/pattern_problems.hpp"
#include "models/fit/ways.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/posterior.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

// Rows of a dual problem that have the targets of a pattern.
std::vector<Index> seen_rows(const DualRows& rows, const TargetPattern& pattern) {
  std::vector<Index> seen;
  for (Index i = 0; i < rows.targets.rows(); ++i) {
    if (!std::isnan(rows.targets(i, pattern.columns[0]))) seen.push_back(i);
  }
  return seen;
}

// Lower triangle of K (rows, rows).
Matrix<double> lower_part(const Matrix<double>& K, const std::vector<Index>& rows, const Execution& execution) {
  const auto n = static_cast<Index>(rows.size());
  Matrix<double> part(n, n);
  parallel_for(n, execution.thread_count(), [&](Index i, int) {
    const double* from = K.row(rows[static_cast<std::size_t>(i)]).data();
    for (Index j = 0; j <= i; ++j) part(i, j) = from[rows[static_cast<std::size_t>(j)]];
  });
  return part;
}

// From coefficients for the root of a pattern's part of A to those for the root B = V sqrt(delta) of A: where B' has
// the pattern's root at its outputs and zeros elsewhere, Theta Bᵀ = Theta' B'ᵀ gives Theta = Theta' B'ᵀ V /
// sqrt(delta).
Matrix<double> change_of_root(const TargetPattern& pattern, const OutputFactor& part, const OutputFactor& outputs,
                              Index p) {
  if (outputs.identity()) {
    Matrix<double> places = Matrix<double>::Zero(static_cast<Index>(pattern.columns.size()), p);
    for (std::size_t k = 0; k < pattern.columns.size(); ++k) places(static_cast<Index>(k), pattern.columns[k]) = 1;
    return places;
  }
  const Matrix<double> own = outputs.vectors(pattern.columns, Eigen::all);
  return part.root().transpose() * own * outputs.delta.cwiseSqrt().cwiseInverse().asDiagonal();
}

// Of the solutions, coefficients of the given rows (none: all) are changed and added; other numbers are sums.
void join(std::vector<AlphaPathSolution>& all, const std::vector<AlphaPathSolution>& some,
          const std::vector<Index>* rows, const Matrix<double>& change, const TargetPattern& pattern) {
  for (std::size_t a = 0; a < all.size(); ++a) {
    AlphaPathSolution& to = all[a];
    const Matrix<double> changed = some[a].solution.coefficients * change;
    if (rows) {
      to.solution.coefficients(*rows, Eigen::all) += changed;
    } else {
      to.solution.coefficients += changed;
    }
    to.alpha = some[a].alpha;
    to.solution.intercept(pattern.columns) = some[a].solution.intercept;
    to.squares += some[a].squares;
    to.degrees_of_freedom += some[a].degrees_of_freedom;
    if (some[a].left_out) to.left_out = to.left_out.value_or(0.0) + *some[a].left_out;
  }
}

// Noise and quantiles of a pattern among those of all outputs; nothing is known of any if it is not of one of them.
template <Real T>
void keep_left_out(FitPipeline<T>& fit, const FitPipeline<T>& part, const TargetPattern& pattern, bool first) {
  const Index p = fit.rows.dim_out();
  if (first) {
    fit.noise.setZero(part.noise.size() > 0 ? p : 0);
    fit.left_out.setZero(part.left_out.rows(), part.left_out.size() > 0 ? p + 1 : 0);
  }
  if (part.noise.size() == 0) fit.noise.resize(0);
  if (part.left_out.size() == 0) fit.left_out.resize(0, 0);
  if (fit.noise.size() > 0) fit.noise(pattern.columns) = part.noise;
  if (fit.left_out.size() > 0) {
    fit.left_out(Eigen::all, pattern.columns) = part.left_out.leftCols(part.left_out.cols() - 1);
  }
}

// All outputs of a row fall into their intervals together with probability 1 - r, at least, if each does with
// probability 1 - r / p: rows that lack some of their targets do not say more.
void bound_joint_quantiles(Matrix<double>& left_out) {
  if (left_out.size() == 0) return;
  const std::vector<double>& levels = interval_levels();
  const Index p = left_out.cols() - 1;
  for (Index k = 0; k < left_out.rows(); ++k) {
    const double each = 1 - (1 - levels[static_cast<std::size_t>(k)]) / static_cast<double>(p);
    const auto at = std::lower_bound(levels.begin(), levels.end(), each * (1 - 1e-12)) - levels.begin();
    left_out(k, p) =
        at < left_out.rows() ? left_out.row(at).head(p).maxCoeff() : std::numeric_limits<double>::infinity();
  }
}

}  // namespace

template <Real T>
PatternProblem<T>::PatternProblem(FitPipeline<T>& whole, const PosedSystem<T>& all, const TargetPattern& pattern)
    : source_(whole.rows.parts(), pattern.columns, pattern.own_rows),
      rows_({&source_}, whole.rows.processes()),
      fit(rows_, whole.options) {
  rows_.read_at_once(whole.rows.rows_at_once());
  fit.task.n = static_cast<double>(pattern.rows);
  fit.task.alpha = whole.task.alpha;
  fit.summary.rows = pattern.rows;
  fit.summary.copies = pattern.copies;
  fit.outputs = whole.outputs_of(pattern);
  fit.origin = whole.origin_of(pattern);
  fit.known_noise = whole.known_noise;
  fit.checkpoint = whole.checkpoint;
  fit.sums_name = format_text("sums of output {}", pattern.columns[0]);
  if (all.primal()) {
    posed.features = all.features;
    features = posed.features(rows_);
    PhaseTimer timer(whole.report, "gram");
    sums = fit.sum(*features);
    if (!keeps_pattern_sums(whole.task)) fit.moments.reset();
    return;
  }
  if (all.kept_features && keeps_pattern_sums(whole.task)) fit.sum(*all.kept_features(rows_));
  seen = seen_rows(all.dual, pattern);
  posed.K = lower_part(all.K, seen, whole.execution);
  posed.dual.targets = all.dual.targets(seen, pattern.columns);
  if (all.dual.weights.size() > 0) posed.dual.weights = all.dual.weights(seen);
  posed.dual.origin = fit.origin;
}

template <Real T>
std::vector<AlphaPathSolution> solve_patterns(FitPipeline<T>& fit, const PosedSystem<T>& posed,
                                              const SolvePattern<T>& solve) {
  const Index p = fit.rows.dim_out(), rank = fit.outputs.rank(p);
  std::vector<AlphaPathSolution> all;
  Index done = 0;
  fit.patterns.clear();
  for (const TargetPattern& pattern : fit.summary.patterns) {
    fit.execution.checkpoint({"patterns", done++, static_cast<Index>(fit.summary.patterns.size())});
    PatternProblem<T> problem(fit, posed, pattern);
    const Index coefficients = posed.primal() ? problem.features->features() : posed.dual.targets.rows();
    std::swap(fit.report, problem.fit.report);  // one report of all patterns
    const std::vector<AlphaPathSolution> found = solve(problem);
    std::swap(fit.report, problem.fit.report);
    keep_left_out(fit, problem.fit, pattern, all.empty());
    fit.patterns.push_back(
        {pattern.columns, fit.task.exact() ? problem.seen : std::vector<Index>(), problem.fit.moments});
    if (all.empty()) {
      const AlphaPathSolution none{
          0, {Matrix<double>::Zero(coefficients, rank), Vector<double>::Zero(p)}, 0, 0, std::nullopt};
      all.assign(found.size(), none);
    }
    join(all, found, posed.primal() ? nullptr : &problem.seen,
         change_of_root(pattern, problem.fit.outputs, fit.outputs, p), pattern);
  }
  bound_joint_quantiles(fit.left_out);
  return all;
}

#define CARMINA_INSTANTIATE(T)                                                                   \
  template class PatternProblem<T>;                                                              \
  template std::vector<AlphaPathSolution> solve_patterns(FitPipeline<T>&, const PosedSystem<T>&, \
                                                         const SolvePattern<T>&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
