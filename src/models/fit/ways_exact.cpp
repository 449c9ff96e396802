// models/fit/ways_exact.cpp -- squared loss with the kernel itself: its matrix, dense or by conjugate gradients.
#include "models/fit/kernel_matrices.hpp"
#include "models/fit/ways.hpp"

#include <algorithm>

namespace carmina {
namespace {

bool exact(const FitTask& t) { return t.exact() && t.squared && t.apart(); }
bool iterated_exact(const FitTask& t) { return t.exact() && t.squared && !t.missing && !t.path && t.folds == 0; }
double exact_order(const FitTask& t) { return t.kernel_order(); }

MemoryUse direct_memory(const FitTask& t) {
  MemoryUse use;
  const double size = t.kernel_order();
  add_rows(use, t, 3);
  add_system(use, "the kernel matrix", size, t.by_eigen);
  if (t.scalar_bytes < number_bytes) {
    use.add("blocks of it", std::min<double>(kernel_rows_together, t.n) * size * t.scalar_bytes);
  }
  if (t.missing) use.add("the matrix of a pattern", number_bytes * square(size));
  add_many_alphas(use, t, size);
  add_vectors(use, size, t.separable ? 6 * t.p : 3 * (t.p + 1));
  add_left_out(use, t, size);
  return use;
}

template <Real T>
PosedProblem<T> pose(FitPipeline<T>& fit) {
  HeldRows<T> held = fit.held_rows();
  DualRows dual = fit.dual_rows(held);
  fit.weights = dual.weights;
  PhaseTimer timer(fit.report, "kernel");
  if (fit.task.separable) {
    Matrix<double> K = finite_kernel_matrix(exact_gram(fit.scalar(), held.X, fit.transform, fit.execution));
    PosedProblem<T> posed{KernelMap<T>(fit.scalar(), std::move(held.X), fit.transform)};
    posed.K = std::move(K);
    posed.dual = std::move(dual);
    posed.digits = std::numeric_limits<T>::epsilon();
    if (std::same_as<T, float>) posed.rounding = posed.digits;
    return posed;
  }
  OperatorMap<T> map(*fit.kernel, std::move(held.X), fit.rows.dim_out(), fit.transform);
  Matrix<double> K = finite_kernel_matrix(map.gram(fit.execution));
  PosedProblem<T> posed{std::move(map)};
  posed.K = std::move(K);
  posed.dual = std::move(dual);
  return posed;
}

constexpr double preconditioner_columns = 200;  // at most (solvers/linear/low_rank.hpp)

MemoryUse exact_cg_memory(const FitTask& t) {
  MemoryUse use;
  const double size = t.kernel_order(), columns = t.separable ? 2 * t.p : t.p + 1;
  add_rows(use, t, 4);
  add_vectors(use, size, 10 * columns);
  use.add("the preconditioner", 3 * number_bytes * size * std::min(size / 10, preconditioner_columns));
  return use;
}

template <Real T>
KernelMachine<T> run_separable_cg(FitPipeline<T>& fit) {
  HeldRows<T> held = fit.held_rows();
  const DualRows dual = fit.dual_rows(held);
  fit.weights = dual.weights;
  const Index n = held.rows();
  KernelMap<T> map(fit.scalar(), held.X, fit.transform);
  const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) {
    Matrix<T> out(n, P.cols());
    apply(map, held.X, P.template cast<T>(), View<T>(out), fit.execution);
    KP = out.template cast<double>();
  };
  const MatrixColumns columns{kernel_diagonal<T>(fit.scalar(), held.X, fit.transform), [&](Index i) -> Vector<double> {
                                Matrix<T> out(n, 1);
                                evaluate(KernelMap<T>(fit.scalar(), held.X.row(i), fit.transform), held.X, View<T>(out),
                                         fit.execution);
                                return out.template cast<double>();
                              }};
  LinearSolution solution;
  {
    PhaseTimer timer(fit.report, "cg");
    solution = solve_dual_cg(product, dual, fit.problem(), fit.iterations(), fit.execution, fit.report, columns);
  }
  return fit.finish(std::move(map), solution);
}

template <Real T>
KernelMachine<T> run_blocks_cg(FitPipeline<T>& fit) {
  HeldRows<T> held = fit.held_rows();
  const DualRows dual = fit.dual_rows(held);
  fit.weights = dual.weights;
  const Index n = held.rows(), p = fit.rows.dim_out();
  OperatorMap<T> map(*fit.kernel, std::move(held.X), p, fit.transform);
  const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) {
    KP.resize(n * p, P.cols());
    Matrix<T> out(n, p);
    for (Index j = 0; j < P.cols(); ++j) {
      const Vector<double> column = P.col(j);
      const Matrix<T> C = Eigen::Map<const Matrix<double>>(column.data(), n, p).template cast<T>();
      map.apply(map.anchors(), C, out, fit.execution);
      const Matrix<double> wide = out.template cast<double>();
      KP.col(j) = Eigen::Map<const Vector<double>>(wide.data(), n * p);
    }
  };
  const auto column = [&](Index k) -> Vector<double> {
    Matrix<T> C = Matrix<T>::Zero(1, p), out(n, p);
    C(0, k % p) = 1;
    OperatorMap<T>(*fit.kernel, map.anchors().row(k / p), p, fit.transform).apply(map.anchors(), C, out, fit.execution);
    const Matrix<double> wide = out.template cast<double>();
    return Eigen::Map<const Vector<double>>(wide.data(), n * p);
  };
  LinearSolution solution;
  {
    PhaseTimer timer(fit.report, "cg");
    solution = solve_dual_blocks_cg(product, dual, fit.task.alpha, fit.options.fit_intercept, fit.iterations(),
                                    fit.execution, fit.report, {map.diagonal(), column});
  }
  return fit.finish(std::move(map), solution);
}

template <Real T>
KernelMachine<T> run_exact_cg(FitPipeline<T>& fit, const Way<T>&) {
  return fit.task.separable ? run_separable_cg(fit) : run_blocks_cg(fit);
}

}  // namespace

template <Real T>
std::vector<Way<T>> exact_ways() {
  return {{{"kernel matrix", Solver::direct, exact, direct_memory, exact_order}, run_posed<T>, pose<T>},
          {{"cg with the kernel", Solver::cg, iterated_exact, exact_cg_memory, exact_order}, run_exact_cg<T>}};
}
template std::vector<Way<float>> exact_ways<float>();
template std::vector<Way<double>> exact_ways<double>();

}  // namespace carmina
