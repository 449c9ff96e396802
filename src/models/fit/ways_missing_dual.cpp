// models/fit/ways_missing_dual.cpp -- squared loss where targets are missing, in the coefficients of the targets that
// are there: the kernel's values between them, dense or by conjugate gradients.
#include "models/fit/kernel_matrices.hpp"
#include "models/fit/rates.hpp"
#include "models/fit/ways.hpp"
#include "models/fit/ways_missing.hpp"
#include "solvers/squared/masked.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace carmina {
namespace {

// A path of alphas too, where the kernel is exact.
bool missing_dual(const FitTask& t) {
  const bool kind = t.exact() || (!t.path && fewer_targets(t));
  return t.missing && t.squared && t.folds == 0 && !t.apart() && kind;
}
bool iterated_kernel(const FitTask& t) { return missing_squared_fit(t) && t.exact(); }

double seen_order(const FitTask& t) { return t.seen(); }

// ---- the kernel between the targets that are there

MemoryUse missing_dual_memory(const FitTask& t) {
  MemoryUse use;
  add_rows(use, t, 3);
  if (t.fourier()) {
    add_map(use, t);
    use.add("features", t.n * t.m * t.scalar_bytes);
  }
  use.add(format_text("the kernel matrix of order {:.0f}", t.kernel_order()), number_bytes * square(t.kernel_order()));
  add_system(use, "a matrix", t.seen(), t.alpha == 0);
  add_many_alphas(use, t, t.seen());
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

// C (n, p) of sum_i k(., x_i) A c_i as coefficients for B, several side by side.
Matrix<double> rotated(const Matrix<double>& C, const OutputFactor& outputs, Index p) {
  if (outputs.identity()) return C;
  const Matrix<double> root = outputs.root();
  Matrix<double> out(C.rows(), C.cols() / p * root.cols());
  for (Index k = 0; k < C.cols() / p; ++k) {
    out.middleCols(k * root.cols(), root.cols()).noalias() = C.middleCols(k * p, p) * root;
  }
  return out;
}

// K of all rows and outputs (n p, n p) at the targets that are there, lower triangle.
Matrix<double> at_targets(const Matrix<double>& K, const SeenTargets& seen, Index p, const Execution& execution) {
  Matrix<double> out(seen.count(), seen.count());
  parallel_for(seen.count(), execution.thread_count(), [&](Index e, int) {
    const auto k = static_cast<std::size_t>(e);
    const double* row = K.row(seen.row[k] * p + seen.output[k]).data();
    for (std::size_t l = 0; l <= k; ++l) out(e, static_cast<Index>(l)) = row[seen.row[l] * p + seen.output[l]];
  });
  return out;
}

// The dual of coupled outputs: K (count, count).
template <Real T>
PosedProblem<T> pose_missing_dual(FitPipeline<T>& fit) {
  const Index p = fit.rows.dim_out();
  HeldRows<T> held = fit.held_rows();
  DualRows rows = fit.dual_rows(held);
  const SeenTargets seen(rows.targets);
  if (fit.task.exact()) fit.weights = rows.weights;
  const auto posed_with = [&](typename KernelMachine<T>::Map map, Matrix<double> K) {
    PosedProblem<T> posed(std::move(map));
    posed.K = std::move(K);
    posed.dual = std::move(rows);
    return posed;
  };
  if (!fit.task.separable) {
    PhaseTimer timer(fit.report, "kernel");
    OperatorMap<T> map(*fit.kernel, std::move(held.X), p, fit.transform);
    Matrix<double> K = at_targets(finite_kernel_matrix(map.gram(fit.execution)), seen, p, fit.execution);
    return posed_with(std::move(map), std::move(K));
  }
  const Matrix<double> A = output_matrix(fit.outputs, p);
  if (fit.task.exact()) {
    PhaseTimer timer(fit.report, "kernel");
    Matrix<double> K = between_targets(
        finite_kernel_matrix(exact_gram(fit.scalar(), held.X, fit.transform, fit.execution)), A, seen, fit.execution);
    PosedProblem<T> posed = posed_with(KernelMap<T>(fit.scalar(), std::move(held.X), fit.transform), std::move(K));
    posed.to_map = [outputs = fit.outputs, p](const Matrix<double>& C) { return rotated(C, outputs, p); };
    return posed;
  }
  FourierMap<T> map = fit.sample_map();
  const auto phi = std::make_shared<Matrix<T>>(held.rows(), map.n_features());
  {
    PhaseTimer timer(fit.report, "features");
    evaluate(map, held.X, View<T>(*phi), fit.execution);
  }
  Matrix<double> K = between_targets(dual_gram(*phi, fit.execution), A, seen, fit.execution);
  PosedProblem<T> posed = posed_with(std::move(map), std::move(K));
  posed.to_map = [phi, outputs = fit.outputs, p, execution = fit.execution](const Matrix<double>& C) {
    return transposed_product(*phi, rotated(C, outputs, p), execution);
  };
  return posed;
}

template <Real T>
KernelMachine<T> run_dual(FitPipeline<T>& fit, const Way<T>& way) {
  PosedProblem<T> posed = way.pose(fit);
  LinearSolution solution;
  {
    PhaseTimer timer(fit.report, "solve");
    solution = solve_masked_dual(posed.K, posed.dual, SeenTargets(posed.dual.targets), fit.task.alpha,
                                 fit.options.fit_intercept, fit.execution, fit.report);
  }
  if (posed.to_map) solution.coefficients = posed.to_map(solution.coefficients);
  return fit.finish(std::move(posed.map), solution);
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
    return solve_masked_dual_cg(product, rows, seen, fit.task.alpha, fit.options.fit_intercept,
                                missing_limits(fit.task, fit.iterations()), fit.execution, fit.report, columns);
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
    solution.coefficients = rotated(solution.coefficients, fit.outputs, p);
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
std::vector<Way<T>> missing_dual_ways() {
  return {
      {{"kernel matrix of the targets that are there", Solver::direct, missing_dual, missing_dual_memory, seen_order,
        dual_cost},
       run_dual<T>,
       pose_missing_dual<T>},
      {{"cg with the kernel, targets missing", Solver::cg, iterated_kernel, kernel_cg_memory, seen_order},
       run_kernel_cg<T>},
  };
}
template std::vector<Way<float>> missing_dual_ways<float>();
template std::vector<Way<double>> missing_dual_ways<double>();

}  // namespace carmina
