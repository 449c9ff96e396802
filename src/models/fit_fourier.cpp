// models/fit_fourier.cpp -- squared loss with Fourier features: normal equations, their dual, or iterations.
#include "fit_path.hpp"

#include <carmina/core/error.hpp>
#include <carmina/features/sample_map.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

// When `auto` takes cg where direct would do, the result is as good as direct's: to the precision of the products.
template <Real T>
constexpr double auto_tolerance = std::same_as<T, float> ? 1e-6 : 1e-11;

// The budget by which solve_primal_cg takes a preconditioner and the rows whose features it sums at once.
Execution within_plan(const Execution& execution, const MemoryUse& way, Index m) {
  Execution within = execution;
  const double features = static_cast<double>(way.feature_rows) * way.feature_row_bytes;
  const double least = 16.0 * static_cast<double>(m) * static_cast<double>(m) + 1;
  within.memory_budget = way.preconditioned ? static_cast<std::size_t>(std::max(least, 4 * features)) : 1;
  return within;
}

}  // namespace

template <Real T>
FourierMap<T> FitPath<T>::sample_map() const {
  return sample_term_map<T>(*kernel_, rows_.dim_in(), options_.n_components, options_.seed, options_.sampling,
                            transform_);
}

template <Real T>
LinearSolution FitPath<T>::fourier_cg(const FourierMap<T>& map, const PredictedTimes& times) {
  PhaseTimer timer(report_, "cg");
  const Execution within = within_plan(execution_, follow("cg"), map.n_features());
  IterationOptions limits = iterations();
  if (options_.solver == "auto") limits.tol = std::min(limits.tol, auto_tolerance<T>);
  // Beyond the time of a direct solution cg is given up for it.
  if (times.cg_is_faster()) limits.max_iter = std::min(limits.max_iter, std::max<Index>(30, times.passes));
  return solve_primal_cg(map, rows_, at_once_, origin_, problem(), limits, within, report_, times.sample_rows);
}

template <Real T>
LinearSolution FitPath<T>::fourier_direct(const FourierMap<T>& map) {
  follow("direct");
  Moments moments(map.n_features(), origin_);
  sum(map, moments);
  if (options_.keep_moments) moments_ = std::make_shared<const Moments>(moments);
  PhaseTimer timer(report_, "solve");
  return solve_primal(moments, problem(), execution_, report_);
}

template <Real T>
KernelMachine<T> FitPath<T>::fit_fourier() {
  FourierMap<T> map = sample_map();
  const Index m = map.n_features(), n = summary_.rows;
  LinearSolution solution;
  const bool dual = n < m;
  const bool preconditioned = plan_.find("cg") && plan_.find("cg")->preconditioned;
  const PredictedTimes times = dual || !preconditioned ? PredictedTimes{} : choice().predicted(map, auto_tolerance<T>);
  if (!choice().use_direct(dual ? n : m + rows_.dim_out() + 1, times.cg_is_faster(), times)) {
    solution = fourier_cg(map, times);
    if (times.cg_is_faster() && report_.status == SolveStatus::not_converged && plan_.find("direct")) {
      const Index tried = report_.iterations;
      auto seconds = std::move(report_.seconds);
      report_ = {};
      report_.solver = "direct";
      report_.reason = format_text("direct: cg had not converged after {} iterations", tried);
      report_.seconds = std::move(seconds);
      solution = fourier_direct(map);
    }
  } else if (dual) {
    follow("direct");
    solution = fourier_dual(map);
  } else {
    solution = fourier_direct(map);
  }
  return finish(std::move(map), solution);
}

template <Real T>
LinearSolution FitPath<T>::iterate(const FourierMap<T>& map, const Expansion& expansion) {
  const std::string& solver = options_.solver;
  PhaseTimer timer(report_, solver);
  follow(solver);
  report_.reason = format_text("{}: asked for", solver);
  const ExpandedProblem<FourierMap<T>> task{
      map, expansion, rows_, at_once_, origin_, options_.alpha, options_.fit_intercept};
  const double n = static_cast<double>(rows_.rows().value_or(summary_.rows)), limit = memory_limit(execution_);
  if (solver == "lsmr") return solve_expanded_lsmr(task, iterations(), execution_, report_);
  if (solver == "idr") return solve_expanded_idr(task, options_.seed, iterations(), execution_, report_);
  const bool keep_rows = n * static_cast<double>(rows_.dim_in() + 1) * sizeof(T) <= limit / 4;
  const BatchOptions batches{solver == "sgd" ? StepRule::sgd : StepRule::adam, options_.seed, keep_rows};
  return solve_expanded_batches(task, batches, iterations(), execution_, report_);
}

// Kernels whose outputs do not come apart: curl-free, divergence-free, sums; and any kernel for iterative solvers.
template <Real T>
KernelMachine<T> FitPath<T>::fit_fourier_expanded() {
  FourierMap<T> map = sample_map();
  const Expansion expansion(*kernel_, map.unit_frequencies(), rows_.dim_out());
  const Index m = map.n_features();
  LinearSolution solution;
  if (choice().iterative_only()) {
    solution = iterate(map, expansion);
  } else if (choice().use_direct(expansion.dim_coef(), choice().plain_cg_is_faster(m, expansion.dim_coef()))) {
    follow("direct");
    Moments moments(m, origin_);
    sum(map, moments);
    if (options_.keep_moments) moments_ = std::make_shared<const Moments>(moments);
    PhaseTimer timer(report_, "solve");
    solution = solve_expanded(moments, expansion, options_.alpha, options_.fit_intercept, execution_, report_);
  } else {
    PhaseTimer timer(report_, "cg");
    follow("cg");
    solution = solve_expanded_cg(map, expansion, rows_, at_once_, origin_, options_.alpha, options_.fit_intercept,
                                 iterations(), execution_, report_);
  }
  return finish(std::move(map), solution);
}

// SPEC 1d for N < 2D: the dual with K = phi phiᵀ, then Theta = phiᵀ C.
template <Real T>
LinearSolution FitPath<T>::fourier_dual(const FourierMap<T>& map) {
  const auto all = gather(rows_, summary_, origin_, at_once_);
  Matrix<T> phi(all.X.rows(), map.n_features());
  Matrix<double> K;
  {
    PhaseTimer timer(report_, "features");
    evaluate(map, all.X, View<T>(phi), execution_);
    K = dual_gram(phi, execution_);
  }
  PhaseTimer timer(report_, "solve");
  LinearSolution solution = solve_dual(K, all.dual, problem(), execution_, report_);
  if (options_.keep_moments) {
    Moments moments(map.n_features(), origin_);
    sum(map, moments);
    moments_ = std::make_shared<const Moments>(std::move(moments));
  }
  solution.coefficients = transposed_product(phi, solution.coefficients, execution_);
  return solution;
}

template class FitPath<float>;
template class FitPath<double>;

}  // namespace carmina
