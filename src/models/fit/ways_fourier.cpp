// models/fit/ways_fourier.cpp -- squared loss with Fourier features: normal equations, their dual, or iterations.
#include "backends/cuda/backend.hpp"
#include "models/fit/kernel_matrices.hpp"
#include "models/fit/rates.hpp"
#include "models/fit/ways.hpp"
#include "solvers/squared/iterative.hpp"
#include "solvers/squared/subset_preconditioner.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

bool primal(const FitTask& t) { return t.fourier() && t.squared && t.separable && !t.fewer_rows() && t.apart(); }
bool dual(const FitTask& t) { return t.fourier() && t.squared && t.fewer_rows() && t.apart(); }
bool expanded(const FitTask& t) { return t.fourier() && t.squared && !t.separable && !t.missing; }
bool iterated(const FitTask& t) { return t.fourier() && t.squared && !t.path && t.folds == 0; }
bool plain(const FitTask& t) { return iterated(t) && !t.missing; }

// When `auto` takes cg where direct would do, the result is as good as direct's: to the precision of the products.
double auto_tolerance(const FitTask& t) { return t.scalar_bytes < 8 ? 1e-6 : 1e-11; }

// ---- normal equations

// Of the matrix that the normal equations, or their dual, have.
double system_order(const FitTask& t) { return t.fewer_rows() ? t.n : t.separable ? t.m + t.p + 1 : t.order; }

MemoryUse primal_memory(const FitTask& t) {
  MemoryUse use;
  add_map(use, t);
  add_moments(use, t, t.m + t.p + 1, t.options.keep_moments ? 2 : 1);
  if (!t.separable) {
    add_system(use, "a matrix", t.order, t.alpha == 0);
    use.add("factors", 2 * t.order * t.p * number_bytes);
    if (t.path && t.leave_one_out) use.add("rotated features", t.m * t.order * t.p * (number_bytes + t.scalar_bytes));
  } else if (t.by_eigen) {
    use.add("workspace of the eigendecomposition", eigen_workspace(t.m));
  } else if (t.path) {
    add_system(use, "a matrix", t.m, false);
  }
  add_many_alphas(use, t, t.order);
  add_vectors(use, t.separable ? t.m : t.order, 6 * (t.separable ? t.p : 1));
  add_left_out(use, t, t.order, t.m);
  add_kept_patterns(use, t);
  return use;
}

template <Real T>
PosedProblem<T> pose_primal(FitPipeline<T>& fit) {
  auto map = std::make_shared<const FourierMap<T>>(fit.sample_map());
  PosedProblem<T> posed{*map};
  if (!fit.task.separable) posed.expansion.emplace(*fit.kernel, map->unit_frequencies(), fit.rows.dim_out());
  posed.features = [map, execution = fit.execution](const DataRows<T>& rows) {
    return rows_of(*map, rows, FeatureStorage::none, execution);
  };
  return posed;
}

// The rows of every pattern once more, and a system for each.
double direct_cost(const FitTask& t) {
  const Rates rates = Rates::of(t.scalar_bytes < 8);
  return t.patterns *
         (t.n * (t.missing ? t.seen_share : 1) * t.m * t.m * rates.gram + std::pow(t.order, 3) / 3 * rates.factor);
}

// ---- fewer rows than features: the dual with K = phi phiᵀ, then Theta = phiᵀ C (mathematics.md 1d)

MemoryUse dual_memory(const FitTask& t) {
  MemoryUse use;
  add_map(use, t);
  add_rows(use, t, 1);
  use.add("features", t.n * t.m * t.scalar_bytes);
  add_system(use, "a matrix", t.n, t.by_eigen);
  if (t.missing) use.add("the matrix of a pattern", number_bytes * square(t.n));
  use.add("blocks of it", std::min<double>(kernel_rows_together, t.n) * (t.n * t.scalar_bytes + t.m * number_bytes));
  add_many_alphas(use, t, t.n);
  add_vectors(use, t.n + t.m, 6 * t.p);
  add_left_out(use, t, t.n);
  add_kept_patterns(use, t);
  if (t.options.keep_moments) add_moments(use, t, t.m + t.p + 1, 2);
  return use;
}

template <Real T>
PosedProblem<T> pose_dual(FitPipeline<T>& fit) {
  const auto map = std::make_shared<const FourierMap<T>>(fit.sample_map());
  const HeldRows<T> held = fit.held_rows();
  auto phi = std::make_shared<Matrix<T>>(held.rows(), map->n_features());
  PosedProblem<T> posed{*map};
  {
    PhaseTimer timer(fit.report, "features");
    evaluate(*map, held.X, View<T>(*phi), fit.execution);
    posed.K = dual_gram(*phi, fit.execution);
    posed.rounding = std::numeric_limits<T>::epsilon();
    // Coefficients of features bear it: they grow with the root of what they divide by.
    if constexpr (std::same_as<T, float>) {
      if (!fit.task.path && fit.task.alpha < posed.rounding * posed.K.diagonal().maxCoeff()) {
        posed.K = fine_dual_gram(*phi, fit.execution);
        posed.rounding = 0;
      }
    }
  }
  posed.kept_features = [map, execution = fit.execution](const DataRows<T>& rows) {
    return rows_of(*map, rows, FeatureStorage::none, execution);
  };
  if (fit.options.keep_moments && !fit.moments && !fit.task.missing) fit.sum(*posed.kept_features(fit.rows));
  posed.dual = fit.dual_rows(held);
  posed.to_map = [phi, execution = fit.execution](const Matrix<double>& C) {
    return transposed_product(*phi, C, execution);
  };
  return posed;
}

// ---- conjugate gradients, preconditioned by the normal equations of some rows

// Rows of the sample, and what cg with it costs.
struct SubsetChoice {
  double rows = 0, cost = std::numeric_limits<double>::infinity();
};

// Passes with a sample of c m rows. cg cuts the error by sqrt(c) each time if no eigenvalue of the Gram matrix is below
// alpha. Many are as a rule, and fewer passes do: `easy` is near what fits took with n / (m alpha) = 50; with 5000 they
// took 0.57 to 0.64 of the way from there to `hard` (n = 100,000, m = 2048, c = 2, 4, 8).
double passes(double c, double tol, double rows_per_alpha) {
  const double easy = -0.66 * std::log(tol) / std::log1p(std::sqrt(c));
  const double hard = -std::log(tol) / std::max(0.1, std::log(c) / 2);
  const double share = std::clamp((std::log10(rows_per_alpha) - 1.7) / 4, 0.0, 1.0);
  return 2.5 + easy + share * std::max(0.0, hard - easy);
}

// Fits of less than half a second are not worth the choice.
SubsetChoice choose_subset(const FitTask& t) {
  SubsetChoice best;
  if (t.n * t.m * t.m < 1e11 || !(t.alpha > 0)) return best;
  const Rates rates = Rates::of(t.scalar_bytes < 8);
  const double tol = std::min(t.options.tol, auto_tolerance(t));
  const double factor = std::pow(t.m, 3) / 3 * rates.single_factor, pass = t.n * rates.pass(t.m, t.d, t.p);
  for (const double c : {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0}) {
    if (2 * c * t.m > t.n) break;  // the sample would be most of the rows
    const double cost = c * std::pow(t.m, 3) * rates.reduced + factor + passes(c, tol, t.n / (t.m * t.alpha)) * pass;
    if (cost < best.cost) best = {c * t.m, cost};
  }
  return best;
}

bool subset_applies(const FitTask& t) {
  return iterated(t) && !t.missing && t.separable &&
         SubsetPreconditioner::sample_rows(static_cast<Index>(t.n), static_cast<Index>(t.m)) > 0;
}

double subset_cost(const FitTask& t) { return choose_subset(t).cost; }

MemoryUse cg_memory(const FitTask& t) {
  MemoryUse use;
  add_map(use, t);
  add_products(use, t);
  add_vectors(use, t.order, 10 * (t.separable ? t.p : 1));
  return use;
}

// A device that is asked for has the factor in its own memory.
bool factored_on_device(const FitTask& t) {
  return t.scalar_bytes < 8 && backend::parse_device(t.options.execution.device).cuda;
}

MemoryUse subset_memory(const FitTask& t) {
  MemoryUse use = cg_memory(t);
  if (factored_on_device(t)) return use;
  // In float, and once more while it is factored; in double, where float will not do.
  use.add("the preconditioner", 12 * square(t.m));
  use.add("a sample of rows", 12 * t.m * (2 * t.d + 1) * t.scalar_bytes);
  return use;
}

template <Real T>
KernelMachine<T> run_cg(FitPipeline<T>& fit, Index subset_rows, IterationOptions limits) {
  const FourierMap<T> map = fit.sample_map();
  const auto features = rows_of(map, fit.rows, FeatureStorage::none, fit.execution);
  LinearSolution solution;
  {
    PhaseTimer timer(fit.report, "cg");
    if (fit.task.separable) {
      solution = solve_primal_cg(*features, fit.origin, fit.problem(), subset_rows, limits, fit.execution, fit.report);
    } else {
      const Expansion expansion(*fit.kernel, map.unit_frequencies(), fit.rows.dim_out());
      solution = solve_expanded_cg(*features, expansion, fit.origin, fit.task.alpha, fit.options.fit_intercept, limits,
                                   fit.execution, fit.report);
    }
  }
  fit.report.device = features->on_device();
  return fit.finish(map, solution);
}

// Chosen by its cost, cg is given up for a direct solution when it takes more than that would.
template <Real T>
KernelMachine<T> run_subset_cg(FitPipeline<T>& fit, const Way<T>&) {
  const FitTask& t = fit.task;
  const SubsetChoice choice = choose_subset(t);
  IterationOptions limits = fit.iterations();
  Index subset = SubsetPreconditioner::sample_rows(static_cast<Index>(t.n), static_cast<Index>(t.m));
  const bool chosen = t.automatic() && std::isfinite(choice.cost);
  if (t.automatic()) limits.tol = std::min(limits.tol, auto_tolerance(t));
  if (chosen) {
    subset = static_cast<Index>(choice.rows);
    const double pass = t.n * Rates::of(t.scalar_bytes < 8).pass(t.m, t.d, t.p);
    limits.max_iter = std::min(limits.max_iter, std::max<Index>(30, static_cast<Index>(direct_cost(t) / pass) + 1));
  }
  KernelMachine<T> machine = run_cg(fit, subset, limits);
  const SolveReport& report = machine.record().report;
  if (!chosen || report.status == SolveStatus::converged || !fit.may_factor()) return machine;
  return fit.factor_instead(format_text("direct: cg had not converged after {} iterations", report.iterations));
}

template <Real T>
KernelMachine<T> run_plain_cg(FitPipeline<T>& fit, const Way<T>&) {
  IterationOptions limits = fit.iterations();
  if (fit.task.automatic() && fit.task.separable) {
    limits.tol = std::min(limits.tol, auto_tolerance(fit.task));
  }
  return run_cg(fit, 0, limits);
}

// 300 products with the features, each taking 8 times as long as the operations of a factorisation.
double plain_cost(const FitTask& t) {
  if (t.separable) return std::numeric_limits<double>::infinity();
  const double work = 8 * 300 * t.n * t.m * (4 * t.p + 2 * t.d + 20),
               direct = t.n * t.m * t.m + std::pow(t.order, 3) / 3;
  return work / direct * direct_cost(t);
}

// ---- solvers that see every Fourier kernel as one vector of coefficients

MemoryUse lsmr_memory(const FitTask& t) {
  MemoryUse use = cg_memory(t);
  use.add("vectors over the rows", (t.missing ? 7 : 6) * number_bytes * t.n * t.p);
  return use;
}

MemoryUse idr_memory(const FitTask& t) {
  MemoryUse use;
  add_map(use, t);
  add_products(use, t);
  add_vectors(use, t.order, 24);
  return use;
}

MemoryUse batch_memory(const FitTask& t) {
  MemoryUse use;
  add_map(use, t);
  add_products(use, t);
  const double directions = std::min({128.0, t.order / 2, std::pow(2.0, 24) / t.order});
  add_vectors(use, t.order, 10 + 5 * directions);
  use.add("a window of rows", std::min(t.n * (t.d + 1), std::pow(2.0, 20)) * t.scalar_bytes);
  const auto sample = static_cast<double>(batch_sample_rows(static_cast<Index>(t.m)));
  if (t.missing) use.add("targets", number_bytes * t.n * t.p);
  use.add("features of a batch", std::min(t.n, sample) * t.m * number_bytes);
  return use;
}

template <Real T, ExpandedSolver& solve>
KernelMachine<T> run_iterative(FitPipeline<T>& fit, const Way<T>& way) {
  const FourierMap<T> map = fit.sample_map();
  const Expansion expansion(*fit.kernel, map.unit_frequencies(), fit.rows.dim_out());
  fit.outputs = {};
  LinearSolution solution;
  {
    PhaseTimer timer(fit.report, std::string(way.solver.word));
    const auto features = rows_of(map, fit.rows, FeatureStorage::none, fit.execution);
    const ExpandedProblem problem{*features,       expansion, fit.origin, fit.task.alpha, fit.options.fit_intercept,
                                  fit.options.seed};
    solution = solve(problem, fit.iterations(), fit.execution, fit.report);
    fit.report.device = features->on_device();
  }
  return fit.finish(map, solution);
}

}  // namespace

template <Real T>
std::vector<Way<T>> fourier_ways() {
  return {
      {{"normal equations of the features", Solver::direct, primal, primal_memory, system_order, direct_cost},
       run_posed<T>,
       pose_primal<T>},
      {{"kernel matrix of the features", Solver::direct, dual, dual_memory, system_order}, run_posed<T>, pose_dual<T>},
      {{"normal equations, outputs not separable", Solver::direct, expanded, primal_memory, system_order, direct_cost},
       run_posed<T>,
       pose_primal<T>},
      {{"cg preconditioned by some rows", Solver::cg, subset_applies, subset_memory, system_order, subset_cost},
       run_subset_cg<T>},
      {{"cg", Solver::cg, plain, cg_memory, system_order, plain_cost}, run_plain_cg<T>},
      {{"lsmr", {"lsmr"}, iterated, lsmr_memory, system_order, nullptr, false}, run_iterative<T, solve_expanded_lsmr>},
      {{"idr", {"idr"}, iterated, idr_memory, system_order, nullptr, false}, run_iterative<T, solve_expanded_idr>},
      {{"sgd", {"sgd", false, true}, iterated, batch_memory, system_order, nullptr, false},
       run_iterative<T, solve_expanded_sgd>},
      {{"adam", {"adam", false, true}, iterated, batch_memory, system_order, nullptr, false},
       run_iterative<T, solve_expanded_adam>},
  };
}
template std::vector<Way<float>> fourier_ways<float>();
template std::vector<Way<double>> fourier_ways<double>();

}  // namespace carmina
