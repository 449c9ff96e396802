// models/fit/ways_missing.cpp -- squared loss where targets are missing and the outputs depend on each other: normal
// equations of all coefficients, and iterations over features.
//
// Where no coupling joins outputs of different patterns, the ways of complete targets serve, pattern by pattern
// (models/fit/pattern_problems.hpp); iterations are here for both.
#include "models/fit/ways_missing.hpp"
#include "data/seen_rows.hpp"
#include "models/fit/rates.hpp"
#include "models/fit/sketched_rows.hpp"
#include "models/fit/ways.hpp"
#include "solvers/squared/masked.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

bool has_features(const FitTask& t) { return t.fourier() || (t.sketched() && t.separable); }
bool normal(const FitTask& t) { return missing_squared_fit(t) && !t.apart() && has_features(t) && !fewer_targets(t); }
bool iterated_missing(const FitTask& t) { return missing_squared_fit(t) && has_features(t); }

// ---- features, and the space of the coefficients

void add_features(MemoryUse& use, const FitTask& t) {
  if (t.sketched()) {
    add_sketch(use, t);
  } else {
    add_map(use, t);
  }
}

// Calls solve(features of any rows, space) and makes the machine of the solution that it returns.
template <Real T, class Solve>
KernelMachine<T> with_features(FitPipeline<T>& fit, const Solve& solve) {
  const Index p = fit.rows.dim_out();
  if (fit.task.sketched()) {
    const SketchedRows<T> sketched(fit);
    const CoefficientSpace space(fit.outputs, sketched.map().n_features(), p);
    LinearSolution solution = solve([&](const DataRows<T>& rows) { return sketched.features(rows); }, space);
    solution.coefficients = sketched.map().anchor_coefficients(solution.coefficients);
    return fit.finish(sketched.map().kernel_map(), solution);
  }
  const FourierMap<T> map = fit.sample_map();
  const auto features = [&](const DataRows<T>& rows) {
    return rows_of(map, rows, FeatureStorage::none, fit.execution);
  };
  if (fit.task.separable) return fit.finish(map, solve(features, CoefficientSpace(fit.outputs, map.n_features(), p)));
  const Expansion expansion(*fit.kernel, map.unit_frequencies(), p);
  return fit.finish(map, solve(features, CoefficientSpace(expansion, map.n_features())));
}

// ---- normal equations

MemoryUse normal_memory(const FitTask& t) {
  MemoryUse use;
  const double order = coupled_order(t);
  add_features(use, t);
  add_moments(use, t, t.m + t.p + 1, 2);
  add_system(use, "a matrix", order, t.alpha == 0);
  if (!t.separable) use.add("the part of a pattern", number_bytes * square(order) + 2 * t.order * t.p * number_bytes);
  add_vectors(use, order, 6);
  use.row_bytes += (t.d + t.p + 2) * t.scalar_bytes;
  return use;
}

double normal_cost(const FitTask& t) {
  const Rates rates = Rates::of(t.scalar_bytes < 8);
  const double order = coupled_order(t);
  return t.patterns * (t.n * t.seen_share * t.m * t.m * rates.gram + order * order) +
         std::pow(order, 3) / 3 * rates.factor;
}

template <Real T>
KernelMachine<T> run_normal(FitPipeline<T>& fit, const Way<T>&) {
  return with_features(fit, [&](const auto& features, const CoefficientSpace& space) {
    std::optional<MaskedNormal> system;
    for (const TargetPattern& pattern : fit.summary.patterns) {
      PhaseTimer timer(fit.report, "gram");
      SeenRows<T> source(fit.rows.parts(), pattern.columns, pattern.own_rows);
      DataRows<T> own({&source}, fit.rows.processes());
      own.read_at_once(fit.rows.rows_at_once());
      const auto rows = features(own);
      if (!system) system.emplace(space, rows->features(), fit.origin, fit.options.fit_intercept, fit.execution);
      Moments sums(rows->features(), fit.origin_of(pattern));
      rows->moments(sums, {fit.checkpoint, format_text("sums of output {}", pattern.columns[0])});
      require_finite(sums);
      system->add(sums, pattern.columns);
    }
    PhaseTimer timer(fit.report, "solve");
    return system->solve(fit.task.alpha, fit.report);
  });
}

// ---- conjugate gradients with features

MemoryUse missing_cg_memory(const FitTask& t) {
  MemoryUse use;
  add_features(use, t);
  add_products(use, t);
  add_products(use, t);  // sums of each output's own weights
  add_vectors(use, coupled_order(t) + t.m * t.p, 10);
  if (t.separable && t.m <= static_cast<double>(largest_inverse)) {
    add_system(use, "the preconditioner", t.m, true);
    use.add("weights of the rows", t.n * number_bytes);
  }
  return use;
}

// Competes with ways whose work is known; the others come first.
double cg_cost(const FitTask& t) {
  if (t.apart() && (t.sketched() || t.fewer_rows())) return std::numeric_limits<double>::infinity();
  const Rates rates = Rates::of(t.scalar_bytes < 8);
  const bool preconditioned = t.separable && t.m <= static_cast<double>(largest_inverse);
  const double prepared = std::pow(t.m, 3) * (std::min(8.0, t.n / t.m) * rates.gram + 8 * rates.factor);
  return (preconditioned ? prepared : 0) + (preconditioned ? 100 : 300) * t.n * rates.pass(t.m, t.d, t.p);
}

template <Real T>
KernelMachine<T> run_missing_cg(FitPipeline<T>& fit, const Way<T>&) {
  return with_features(fit, [&](const auto& features, const CoefficientSpace& space) {
    PhaseTimer timer(fit.report, "cg");
    return solve_masked_cg(*features(fit.rows), space, fit.origin, fit.task.alpha, fit.options.fit_intercept,
                           missing_limits(fit.task, fit.iterations()), fit.execution, fit.report);
  });
}

}  // namespace

template <Real T>
std::vector<Way<T>> missing_ways() {
  return {
      {{"normal equations, coupled outputs with targets missing", Solver::direct, normal, normal_memory, coupled_order,
        normal_cost},
       run_normal<T>},
      {{"cg, targets missing", Solver::cg, iterated_missing, missing_cg_memory, coupled_order, cg_cost},
       run_missing_cg<T>},
  };
}
template std::vector<Way<float>> missing_ways<float>();
template std::vector<Way<double>> missing_ways<double>();

}  // namespace carmina
