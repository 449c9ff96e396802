// models/fit/ways_missing.cpp -- squared loss where targets are missing and the outputs depend on each other: normal
// equations of all coefficients, the kernel's values between the targets that are there, and iterations.
//
// Where no coupling joins outputs of different patterns, the ways of complete targets serve, pattern by pattern
// (models/fit/pattern_problems.hpp); iterations are here for both.
#include "data/seen_rows.hpp"
#include "models/fit/kernel_matrices.hpp"
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

bool squared_fit(const FitTask& t) { return t.missing && t.squared && !t.path && t.folds == 0; }
bool has_features(const FitTask& t) { return t.fourier() || (t.sketched() && t.separable); }
// Coefficients of all outputs together.
double coupled_order(const FitTask& t) { return t.separable ? t.m * t.rank : t.order; }
bool fewer_targets(const FitTask& t) { return t.fourier() && t.separable && t.seen() < coupled_order(t); }

bool normal(const FitTask& t) { return squared_fit(t) && !t.apart() && has_features(t) && !fewer_targets(t); }
bool dual(const FitTask& t) { return squared_fit(t) && !t.apart() && (t.exact() || fewer_targets(t)); }
bool iterated(const FitTask& t) { return squared_fit(t) && has_features(t); }
bool iterated_kernel(const FitTask& t) { return squared_fit(t) && t.exact(); }

double seen_order(const FitTask& t) { return t.seen(); }

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
  add_system(use, "a matrix", order, t.options.alpha == 0);
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
      SeenRows<T> source(fit.rows.parts(), pattern.columns, pattern.rows);
      DataRows<T> own(source);
      own.read_at_once(fit.rows.rows_at_once());
      const auto rows = features(own);
      if (!system) system.emplace(space, rows->features(), fit.origin, fit.options.fit_intercept, fit.execution);
      Moments sums(rows->features(), fit.origin_of(pattern));
      rows->moments(sums);
      system->add(sums, pattern.columns);
    }
    PhaseTimer timer(fit.report, "solve");
    return system->solve(fit.options.alpha, fit.report);
  });
}

// ---- conjugate gradients with features

MemoryUse cg_memory(const FitTask& t) {
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

// Where `auto` takes cg in the place of a direct solution, to the precision of the products.
IterationOptions limits(const FitTask& t, IterationOptions asked) {
  if (t.solver == Solver::automatic) asked.tol = std::min(asked.tol, t.scalar_bytes < 8 ? 1e-6 : 1e-11);
  return asked;
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
KernelMachine<T> run_cg(FitPipeline<T>& fit, const Way<T>&) {
  return with_features(fit, [&](const auto& features, const CoefficientSpace& space) {
    PhaseTimer timer(fit.report, "cg");
    return solve_masked_cg(*features(fit.rows), space, fit.origin, fit.options.alpha, fit.options.fit_intercept,
                           limits(fit.task, fit.iterations()), fit.execution, fit.report);
  });
}

// ---- the kernel between the targets that are there

MemoryUse dual_memory(const FitTask& t) {
  MemoryUse use;
  add_rows(use, t, 3);
  if (t.fourier()) {
    add_map(use, t);
    use.add("features", t.n * t.m * t.scalar_bytes);
  }
  use.add(format_text("the kernel matrix of order {:.0f}", t.kernel_order()), number_bytes * square(t.kernel_order()));
  add_system(use, "a matrix", t.seen(), t.options.alpha == 0);
  add_vectors(use, t.seen(), 4 * (t.p + 1));
  return use;
}

double dual_cost(const FitTask& t) {
  if (t.exact()) return 0;
  const Rates rates = Rates::of(t.scalar_bytes < 8);
  return t.n * t.n * t.m * rates.gram + std::pow(t.seen(), 3) / 3 * rates.factor;
}

// A_ab K_ij between targets (i, a) and (j, b), lower triangle, from the lower triangle of K (n, n).
Matrix<double> between_targets(const Matrix<double>& K, const Matrix<double>& A, const SeenTargets& seen,
                               const Execution& execution) {
  const Index count = seen.count();
  Matrix<double> out(count, count);
  parallel_for(count, execution.thread_count(), [&](Index e, int) {
    const auto k = static_cast<std::size_t>(e);
    const double* row = K.row(seen.row[k]).data();
    const double* coupling = A.row(seen.output[k]).data();
    for (std::size_t l = 0; l <= k; ++l) out(e, static_cast<Index>(l)) = coupling[seen.output[l]] * row[seen.row[l]];
  });
  return out;
}

Matrix<double> output_matrix(const OutputFactor& outputs, Index p) {
  if (outputs.identity()) return Matrix<double>::Identity(p, p);
  return outputs.root() * outputs.root().transpose();
}

// C (n, p) of sum_i k(., x_i) A c_i as coefficients for B.
Matrix<double> rotated(const Matrix<double>& C, const OutputFactor& outputs) {
  return outputs.identity() ? C : Matrix<double>(C * outputs.root());
}

template <Real T>
KernelMachine<T> run_dual(FitPipeline<T>& fit, const Way<T>&) {
  const Index p = fit.rows.dim_out();
  HeldRows<T> held = fit.held_rows();
  const DualRows rows = fit.dual_rows(held);
  const SeenTargets seen(rows.targets);
  const auto solve = [&](Matrix<double> K) {
    PhaseTimer timer(fit.report, "solve");
    return solve_masked_dual(K, rows, seen, fit.options.alpha, fit.options.fit_intercept, fit.execution, fit.report);
  };
  if (!fit.task.separable) {
    fit.weights = rows.weights;
    OperatorMap<T> map(*fit.kernel, std::move(held.X), p, fit.transform);
    Matrix<double> K(seen.count(), seen.count());
    {
      PhaseTimer timer(fit.report, "kernel");
      const Matrix<double> all = map.gram(fit.execution);
      parallel_for(seen.count(), fit.execution.thread_count(), [&](Index e, int) {
        const auto k = static_cast<std::size_t>(e);
        for (std::size_t l = 0; l <= k; ++l) {
          K(e, static_cast<Index>(l)) = all(seen.row[k] * p + seen.output[k], seen.row[l] * p + seen.output[l]);
        }
      });
    }
    return fit.finish(std::move(map), solve(std::move(K)));
  }
  const Matrix<double> A = output_matrix(fit.outputs, p);
  const auto kernel_between = [&](const Matrix<double>& K) { return between_targets(K, A, seen, fit.execution); };
  if (fit.task.exact()) {
    fit.weights = rows.weights;
    LinearSolution solution = solve(kernel_between([&] {
      PhaseTimer timer(fit.report, "kernel");
      return exact_gram(fit.scalar(), held.X, fit.transform, fit.execution);
    }()));
    solution.coefficients = rotated(solution.coefficients, fit.outputs);
    return fit.finish(KernelMap<T>(fit.scalar(), std::move(held.X), fit.transform), solution);
  }
  FourierMap<T> map = fit.sample_map();
  Matrix<T> phi(held.rows(), map.n_features());
  {
    PhaseTimer timer(fit.report, "features");
    evaluate(map, held.X, View<T>(phi), fit.execution);
  }
  LinearSolution solution = solve(kernel_between(dual_gram(phi, fit.execution)));
  solution.coefficients = transposed_product(phi, rotated(solution.coefficients, fit.outputs), fit.execution);
  return fit.finish(std::move(map), solution);
}

// ---- conjugate gradients with the kernel

MemoryUse kernel_cg_memory(const FitTask& t) {
  MemoryUse use;
  const double size = t.n * t.p;
  add_rows(use, t, 4);
  add_vectors(use, size, 14);
  use.add("the preconditioner", 3 * number_bytes * t.seen() * std::min(t.seen() / 10, 200.0));
  return use;
}

template <Real T>
KernelMachine<T> run_kernel_cg(FitPipeline<T>& fit, const Way<T>&) {
  const Index p = fit.rows.dim_out();
  HeldRows<T> held = fit.held_rows();
  const DualRows rows = fit.dual_rows(held);
  fit.weights = rows.weights;
  const Index n = held.rows();
  const SeenTargets seen(rows.targets);
  const auto minimum = [&](const OutputProduct& product, const MatrixColumns& columns) {
    PhaseTimer timer(fit.report, "cg");
    return solve_masked_dual_cg(product, rows, seen, fit.options.alpha, fit.options.fit_intercept,
                                limits(fit.task, fit.iterations()), fit.execution, fit.report, columns);
  };
  const auto place = [&](Index e) {
    const auto k = static_cast<std::size_t>(e);
    return std::pair(seen.row[k], seen.output[k]);
  };
  Matrix<T> out(n, p);
  if (fit.task.separable) {
    const Matrix<double> A = output_matrix(fit.outputs, p);
    KernelMap<T> map(fit.scalar(), held.X, fit.transform);
    const auto product = [&](const Matrix<double>& V) -> Matrix<double> {
      apply(map, held.X, Matrix<T>((V * A).template cast<T>()), View<T>(out), fit.execution);
      return out.template cast<double>();
    };
    const Vector<double> diagonal = kernel_diagonal<T>(fit.scalar(), held.X, fit.transform);
    const MatrixColumns columns{seen.gathered(diagonal * A.diagonal().transpose()), [&](Index e) -> Vector<double> {
                                  const auto [i, a] = place(e);
                                  Matrix<T> column(n, 1);
                                  evaluate(KernelMap<T>(fit.scalar(), held.X.row(i), fit.transform), held.X,
                                           View<T>(column), fit.execution);
                                  return seen.gathered(column.template cast<double>() * A.row(a));
                                }};
    LinearSolution solution = minimum(product, columns);
    solution.coefficients = rotated(solution.coefficients, fit.outputs);
    return fit.finish(std::move(map), solution);
  }
  OperatorMap<T> map(*fit.kernel, std::move(held.X), p, fit.transform);
  const auto product = [&](const Matrix<double>& V) -> Matrix<double> {
    map.apply(map.anchors(), Matrix<T>(V.template cast<T>()), out, fit.execution);
    return out.template cast<double>();
  };
  const Vector<double> diagonal = map.diagonal();
  const MatrixColumns columns{seen.gathered(Eigen::Map<const Matrix<double>>(diagonal.data(), n, p)),
                              [&](Index e) -> Vector<double> {
                                const auto [i, a] = place(e);
                                Matrix<T> C = Matrix<T>::Zero(1, p), column(n, p);
                                C(0, a) = 1;
                                OperatorMap<T>(*fit.kernel, map.anchors().row(i), p, fit.transform)
                                    .apply(map.anchors(), C, column, fit.execution);
                                return seen.gathered(column.template cast<double>());
                              }};
  return fit.finish(map, minimum(product, columns));
}

}  // namespace

template <Real T>
std::vector<Way<T>> missing_ways() {
  return {
      {{"normal equations, coupled outputs with targets missing", Solver::direct, normal, normal_memory, coupled_order,
        normal_cost},
       run_normal<T>},
      {{"kernel matrix of the targets that are there", Solver::direct, dual, dual_memory, seen_order, dual_cost},
       run_dual<T>},
      {{"cg, targets missing", Solver::cg, iterated, cg_memory, coupled_order, cg_cost}, run_cg<T>},
      {{"cg with the kernel, targets missing", Solver::cg, iterated_kernel, kernel_cg_memory, seen_order},
       run_kernel_cg<T>},
  };
}
template std::vector<Way<float>> missing_ways<float>();
template std::vector<Way<double>> missing_ways<double>();

}  // namespace carmina
