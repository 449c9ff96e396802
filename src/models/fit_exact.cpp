// models/fit_exact.cpp -- squared loss with the kernel itself: the dual, dense or by conjugate gradients.
#include "fit_path.hpp"

namespace carmina {

template <Real T>
KernelMachine<T> FitPath<T>::fit_exact(const ScalarKernel& scalar) {
  const Index n = summary_.rows;
  const bool direct = choice().use_direct(n);
  follow(direct ? "direct" : "cg");
  auto all = gather(rows_, summary_, origin_, at_once_);
  LinearSolution solution;
  if (direct) {
    Matrix<double> K;
    {
      PhaseTimer timer(report_, "kernel");
      K = exact_gram(scalar, all.X, transform_, execution_);
    }
    PhaseTimer timer(report_, "solve");
    solution = solve_dual(K, all.dual, problem(), execution_, report_);
  } else {
    PhaseTimer timer(report_, "cg");
    const KernelMap<T> map(scalar, all.X, transform_);
    const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) {
      Matrix<T> out(n, P.cols());
      apply(map, all.X, P.template cast<T>(), View<T>(out), execution_);
      KP = out.template cast<double>();
    };
    const MatrixColumns columns{kernel_diagonal<T>(scalar, all.X, transform_), [&](Index i) -> Vector<double> {
                                  Matrix<T> out(n, 1);
                                  evaluate(KernelMap<T>(scalar, all.X.row(i), transform_), all.X, View<T>(out),
                                           execution_);
                                  return out.template cast<double>();
                                }};
    solution = solve_dual_cg(product, all.dual, problem(), iterations(), execution_, report_, columns);
  }
  weights_ = all.dual.weights;
  return finish(KernelMap<T>(scalar, std::move(all.X), transform_), solution);
}

template <Real T>
KernelMachine<T> FitPath<T>::fit_exact_blocks() {
  const Index n = summary_.rows, p = rows_.dim_out();
  const bool direct = choice().use_direct(n * p);
  follow(direct ? "direct" : "cg");
  auto all = gather(rows_, summary_, origin_, at_once_);
  OperatorMap<T> map(*kernel_, std::move(all.X), p, transform_);
  LinearSolution solution;
  if (direct) {
    Matrix<double> K;
    {
      PhaseTimer timer(report_, "kernel");
      K = map.gram(execution_);
    }
    PhaseTimer timer(report_, "solve");
    solution = solve_dual_blocks(K, all.dual, options_.alpha, options_.fit_intercept, execution_, report_);
  } else {
    PhaseTimer timer(report_, "cg");
    const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) {
      KP.resize(n * p, P.cols());
      Matrix<T> out(n, p);
      for (Index j = 0; j < P.cols(); ++j) {
        const Vector<double> column = P.col(j);
        const Matrix<T> C = Eigen::Map<const Matrix<double>>(column.data(), n, p).template cast<T>();
        map.apply(map.anchors(), C, out, execution_);
        const Matrix<double> wide = out.template cast<double>();
        KP.col(j) = Eigen::Map<const Vector<double>>(wide.data(), n * p);
      }
    };
    const auto column = [&](Index k) -> Vector<double> {
      Matrix<T> C = Matrix<T>::Zero(1, p), out(n, p);
      C(0, k % p) = 1;
      OperatorMap<T>(*kernel_, map.anchors().row(k / p), p, transform_).apply(map.anchors(), C, out, execution_);
      const Matrix<double> wide = out.template cast<double>();
      return Eigen::Map<const Vector<double>>(wide.data(), n * p);
    };
    const MatrixColumns columns{map.diagonal(), column};
    solution = solve_dual_blocks_cg(product, all.dual, options_.alpha, options_.fit_intercept, iterations(), execution_,
                                    report_, columns);
  }
  weights_ = all.dual.weights;
  return finish(std::move(map), solution);
}

template class FitPath<float>;
template class FitPath<double>;

}  // namespace carmina
