// models/fit/pattern_problems.cpp -- the rows of each pattern, and its solution among the others.
#include "models/fit/pattern_problems.hpp"
#include "data/seen_rows.hpp"

#include <carmina/core/error.hpp>

#include <cmath>

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

}  // namespace

template <Real T>
std::vector<AlphaPathSolution> solve_patterns(FitPipeline<T>& fit, const PosedProblem<T>& posed,
                                              const SolvePattern& solve) {
  const Index p = fit.rows.dim_out(), rank = fit.outputs.rank(p);
  std::vector<AlphaPathSolution> all;
  Index done = 0;
  for (const TargetPattern& pattern : fit.summary.patterns) {
    fit.execution.checkpoint({"patterns", done++, static_cast<Index>(fit.summary.patterns.size())});
    PatternProblem problem{fit.outputs_of(pattern)};
    const Vector<double> origin = fit.origin_of(pattern);
    std::vector<Index> seen;
    std::vector<AlphaPathSolution> found;
    Index coefficients = 0;
    if (posed.primal()) {
      SeenRows<T> source(fit.rows.parts(), pattern.columns, pattern.rows);
      DataRows<T> own(source);
      own.read_at_once(fit.rows.rows_at_once());
      problem.features = posed.features(own);
      problem.sums.emplace(problem.features->features(), origin);
      coefficients = problem.features->features();
      {
        PhaseTimer timer(fit.report, "gram");
        problem.features->moments(*problem.sums);
      }
      found = solve(problem);
    } else {
      seen = seen_rows(posed.dual, pattern);
      coefficients = posed.dual.targets.rows();
      problem.K = lower_part(posed.K, seen, fit.execution);
      problem.dual.targets = posed.dual.targets(seen, pattern.columns);
      if (posed.dual.weights.size() > 0) problem.dual.weights = posed.dual.weights(seen);
      problem.dual.origin = origin;
      found = solve(problem);
    }
    if (all.empty()) {
      const AlphaPathSolution none{
          0, {Matrix<double>::Zero(coefficients, rank), Vector<double>::Zero(p)}, 0, 0, std::nullopt};
      all.assign(found.size(), none);
    }
    join(all, found, posed.primal() ? nullptr : &seen, change_of_root(pattern, problem.outputs, fit.outputs, p),
         pattern);
  }
  return all;
}

#define CARMINA_INSTANTIATE(T) \
  template std::vector<AlphaPathSolution> solve_patterns(FitPipeline<T>&, const PosedProblem<T>&, const SolvePattern&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
