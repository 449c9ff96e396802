// models/fit/ways.cpp -- the table itself, what its ways share, and the solution of posed problems.
#include "models/fit/ways.hpp"
#include "backends/tiled.hpp"
#include "core/words.hpp"
#include "features/moments_builder.hpp"
#include "features/segmented_sum.hpp"
#include "models/fit/leave_out.hpp"
#include "models/fit/pattern_problems.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numeric>

namespace carmina {

template <Real T>
const std::vector<Way<T>>& ways() {
  static const std::vector<Way<T>> table = [] {
    std::vector<Way<T>> all;
    for (const auto& part : {fourier_ways<T>(), exact_ways<T>(), sketched_ways<T>(), missing_ways<T>(),
                             missing_dual_ways<T>(), loss_ways<T>()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}
template const std::vector<Way<float>>& ways<float>();
template const std::vector<Way<double>>& ways<double>();

std::vector<std::string> solver_names() {
  std::vector<std::string> names{std::string(Solver::automatic.word)};
  for (const auto& way : ways<double>()) {
    if (std::find(names.begin(), names.end(), way.solver.word) == names.end()) names.emplace_back(way.solver.word);
  }
  return names;
}

// Fourier features take every solver that some approximation does.
std::vector<std::string> solver_names(const Loss& loss) {
  FitOptions options;
  options.loss = loss;
  std::vector<std::string> names;
  for (const Solver one : solvers_for(FitTask(options))) names.emplace_back(one.word);
  return names;
}

Solver parse_solver(const std::string& word) {
  if (word == Solver::automatic.word) return Solver::automatic;
  for (const auto& way : ways<double>()) {
    if (word == way.solver.word) return way.solver;
  }
  fail("solver must be {}, found '{}'", either(solver_names()), word);
}

// Sizes decide between ways of one solver, never whether there is one: any will do here.
std::vector<Solver> solvers_for(const FitTask& task) {
  std::vector<Solver> found = {Solver::automatic};
  for (const auto& way : ways<double>()) {
    const bool listed = std::find(found.begin(), found.end(), way.solver) != found.end();
    if (!listed && way.applies(task)) found.push_back(way.solver);
  }
  return found;
}

void require_factors(const FitTask& task, const std::string& what) {
  if (task.may_factor()) return;
  std::vector<std::string_view> words;
  for (const Solver one : solvers_for(task)) {
    if (one.factors || one == Solver::automatic) words.push_back(one.word);
  }
  fail("{}: solver must be {}, found '{}'", what, either(words), task.solver.word);
}

FitOptions FitOptions::with_moments(const std::string& what) const {
  const FitTask task(*this);
  require(task.squared, "{}: it is for the squared loss, found loss '{}'", what, loss_name(loss));
  require(task.has_deviations(),
          "{}: it is for approximation 'auto', 'fourier' and 'exact', and for 'sub_sample' with outputs that are "
          "separable, found '{}'",
          what, task.approximation_name());
  require_factors(task, what);
  FitOptions kept = *this;
  kept.keep_moments = true;
  for (const Solver one : solvers_for(task)) {
    if (one.factors) kept.solver = one.word;
  }
  return kept;
}

// The frequencies in double and in the data's precision, as they are and in panels.
void add_map(MemoryUse& use, const FitTask& t) {
  const double count = t.options.sampling == Sampling::phases ? t.m : t.m / 2;
  use.add("frequencies", count * t.d * (2 * number_bytes + 2 * t.scalar_bytes));
}

// Sums over stretches of rows, those under way, of the open segment and in all; and the features of a tile of each
// thread where they outgrow its scratch.
void add_products(MemoryUse& use, const FitTask& t) {
  constexpr double scratch = 524288;
  const auto under_way = static_cast<double>(sums_under_way(t.scalar_bytes * t.m * (t.p + 1)));
  const double stretches = std::clamp(t.n / static_cast<double>(t.grid().stretch), 1.0, under_way);
  const double sums = (stretches * t.scalar_bytes + 3 * number_bytes) * t.m * (t.p + 1);
  const double tiles = std::max(0.0, 16 * t.m * t.scalar_bytes - scratch) * t.options.execution.thread_count();
  use.add("sums of a product", sums + tiles);
  use.row_bytes += (t.p + 1) * t.scalar_bytes;
}

// Vectors of an iterative solver: solution, residual, direction, their products and copies.
void add_vectors(MemoryUse& use, double length, double count) { use.add("vectors", count * length * number_bytes); }

// The vectors, those of the last join of halves, and a quarter of the vectors that are joined.
double eigen_workspace(double order) { return 2.25 * number_bytes * square(order); }

// A system solved in place; an eigendecomposition has a workspace besides.
void add_system(MemoryUse& use, const char* what, double order, bool by_eigen) {
  use.add(format_text("{} of order {:.0f}", what, order), number_bytes * square(order));
  if (by_eigen) use.add("workspace of the eigendecomposition", eigen_workspace(order));
}

void add_moments(MemoryUse& use, const FitTask& t, double width, double copies) {
  const auto order = static_cast<Index>(width), rows = static_cast<Index>(t.n);
  const bool narrow = t.scalar_bytes < number_bytes;
  const auto chunk =
      narrow ? MomentsBuilder<float>::chunk_rows(order, t.grid()) : MomentsBuilder<double>::chunk_rows(order, t.grid());
  const auto matrices = narrow ? MomentsBuilder<float>::matrices(order, rows, t.grid())
                               : MomentsBuilder<double>::matrices(order, rows, t.grid());
  use.add(format_text("sums of order {:.0f}", width),
          std::max(copies, static_cast<double>(matrices)) * number_bytes * square(width));
  // Halves of matrices that wait for those of other processes: of two processes the second has half of the segments.
  if (t.divided) {
    const double segments = std::ceil(t.n / static_cast<double>(t.grid().segment));
    use.add("sums of segments", (1 + std::ceil(segments / 2)) * number_bytes * square(width) / 2);
  }
  use.add("features to be summed", std::min(static_cast<double>(chunk), t.n) * width * t.scalar_bytes);
  const Execution& execution = t.options.execution;
  use.add("sums of threads", narrow ? MomentsBuilder<float>::own_bytes(order, rows, t.grid(), execution)
                                    : MomentsBuilder<double>::own_bytes(order, rows, t.grid(), execution));
}

void add_rows(MemoryUse& use, const FitTask& t, double copies_of_inputs) {
  use.add(format_text("{:.0f} rows", t.n), t.n * (copies_of_inputs * t.d * t.scalar_bytes + 2 * t.p * number_bytes));
}

namespace {

double pattern_sums(const FitTask& t) { return t.patterns * square(t.m + t.p + 1) * number_bytes; }

}  // namespace

bool keeps_pattern_sums(const FitTask& t) {
  return t.missing && t.options.keep_moments && pattern_sums(t) <= memory_limit(t.options.execution) / 4;
}

void add_kept_patterns(MemoryUse& use, const FitTask& t) {
  if (keeps_pattern_sums(t)) use.add("sums of the patterns", pattern_sums(t));
}

void add_many_alphas(MemoryUse& use, const FitTask& t, double order) {
  if (t.folds > 0) use.add("systems of the folds", (t.folds + 2) * number_bytes * square(order));
  if (t.path && t.leave_one_out) use.add("eigenvectors", eigen_workspace(order));
}

namespace {

// Sums of float rows are wrong by about eps of their size. An alpha far below that would divide nothing but rounding:
// the least that can be distinguished from it is taken.
template <Real T>
double alpha_above_rounding(const Moments& sums, double alpha, SolveReport& report) {
  if (!std::same_as<T, float> || alpha == 0) return alpha;
  const double eps = std::numeric_limits<T>::epsilon(), size = sums.sums.diagonal().head(sums.features).maxCoeff();
  // The smallest floats have no digits to lose.
  const double rounding = std::max(eps * size, 64.0 * std::numeric_limits<T>::denorm_min());
  if (alpha > eps * rounding) return alpha;
  report.message = "alpha is below the rounding of float32: as much as that was taken; a larger alpha is advised";
  return rounding;
}

// Of few rows, or with an alpha far below the rounding of sums in T, these are worth to be taken in double, 1024 rows
// at a time.
template <Real T>
bool wants_fine_sums(const FitPipeline<T>& fit, const FeatureRows& features) {
  constexpr double eps = std::numeric_limits<T>::epsilon(), rounding = 64 * eps;
  const auto n = static_cast<double>(features.rows()), m = static_cast<double>(features.features());
  return std::same_as<T, float> && !fit.options.keep_moments && !fit.rows.processes() && !fit.checkpoint &&
         fit.task.alpha > 0 && fit.task.alpha < rounding * fit.summary.weight / (m * std::sqrt(n));
}
template <Real T>
Moments fine_sums(const FitPipeline<T>& fit, const FeatureRows& features) {
  constexpr Index together = 1024;
  Moments sums(features.features(), fit.origin);
  const Index m = sums.features, p = sums.outputs, width = m + p + 1;
  const Matrix<double> targets = features.targets();
  const Vector<double> weights = features.weights();
  Matrix<double> phi, rows;
  features.windows([&](Index first_row, Index count, const FeatureRows::Gather& gather) {
    std::vector<Index> places;
    for (Index at = 0; at < count; at += together) {
      const Index some = std::min(together, count - at), row = first_row + at;
      places.resize(static_cast<std::size_t>(some));
      std::iota(places.begin(), places.end(), at);
      gather(places.data(), some, phi);
      rows.resize(some, width);
      rows << phi, targets.middleRows(row, some).rowwise() - fit.origin.transpose(), Vector<double>::Ones(some);
      if (weights.size() > 0) rows = weights.segment(row, some).cwiseSqrt().asDiagonal() * rows;
      backend::add_gram(width, some, rows.data(), width, sums.sums.data(), width, fit.execution);
    }
  });
  sums.rows = features.rows();
  require_finite(sums);
  return sums;
}

}  // namespace

template <Real T>
LinearSolution solve_posed(FitPipeline<T>& fit, PosedSystem<T>& posed, Moments* sums, double alpha) {
  if (fit.task.missing) {
    const SolvePattern<T> solve = [alpha](PatternProblem<T>& part) -> std::vector<AlphaPathSolution> {
      return {{alpha, solve_posed(part.fit, part.posed, part.sums ? &*part.sums : nullptr, alpha), 0, 0, std::nullopt}};
    };
    return solve_patterns(fit, posed, solve)[0].solution;
  }
  if (sums) alpha = alpha_above_rounding<T>(*sums, alpha, fit.report);
  RowsLeftOut<T> left_out(fit, posed, alpha, sums);
  PhaseTimer timer(fit.report, "solve");
  const bool intercept = fit.options.fit_intercept;
  const SquaredLossProblem separable{fit.outputs, alpha, intercept};
  LinearSolution solution;
  if (sums) {
    solution = posed.expansion
                   ? solve_expanded(*sums, *posed.expansion, alpha, intercept, fit.execution, fit.report,
                                    left_out.use(), posed.digits)
                   : solve_primal(*sums, separable, fit.execution, fit.report, left_out.use(), posed.digits);
  } else {
    solution = fit.task.separable ? solve_dual(posed.K, posed.dual, separable, fit.execution, fit.report,
                                               left_out.use(), posed.rounding, posed.digits)
                                  : solve_dual_blocks(posed.K, posed.dual, alpha, intercept, fit.execution, fit.report,
                                                      left_out.use());
  }
  left_out.finish(solution);
  return solution;
}
template LinearSolution solve_posed(FitPipeline<float>&, PosedSystem<float>&, Moments*, double);
template LinearSolution solve_posed(FitPipeline<double>&, PosedSystem<double>&, Moments*, double);

template <Real T>
KernelMachine<T> run_posed(FitPipeline<T>& fit, const Way<T>& way) {
  PosedProblem<T> posed = way.pose(fit);
  std::optional<Moments> sums;
  if (posed.primal() && !fit.task.missing) {
    const auto features = posed.features(fit.rows);
    const bool fine = wants_fine_sums(fit, *features);
    if (!fine) posed.digits = std::numeric_limits<T>::epsilon();
    sums = fine ? fine_sums(fit, *features) : fit.sum(*features);
  }
  LinearSolution solution = solve_posed(fit, posed, sums ? &*sums : nullptr, fit.task.alpha);
  if (posed.to_map) solution.coefficients = posed.to_map(solution.coefficients);
  return fit.finish(std::move(posed.map), solution);
}
template KernelMachine<float> run_posed(FitPipeline<float>&, const Way<float>&);
template KernelMachine<double> run_posed(FitPipeline<double>&, const Way<double>&);

}  // namespace carmina
