// solvers/squared_dual.cpp -- squared loss in the coefficients of the rows: exact machines, and fewer rows than
// features.
#include <carmina/core/error.hpp>
#include <carmina/solvers/squared_loss.hpp>

#include <cmath>

namespace carmina {
namespace {

// With c = W^(1/2) c', H = W^(1/2) K W^(1/2): (delta_j H + alpha I) c'_j = w^(1/2) (y_j - b_j). Right-hand sides are
// the turned targets and, for the intercept, w^(1/2) once per column: its solution s_j gives b_j = <w^(1/2), c'_j> /
// <w^(1/2), s_j>, the value that makes 1ᵀ c_j vanish.
struct DualSystem {
  Vector<double> root_weights, delta;
  Matrix<double> right;
  Index rank;

  DualSystem(const DualRows& rows, const SquaredLossProblem& problem) {
    const Index n = rows.targets.rows(), p = rows.targets.cols();
    root_weights =
        rows.weights.size() > 0 ? Vector<double>(rows.weights.cwiseSqrt()) : Vector<double>(Vector<double>::Ones(n));
    rank = problem.outputs.rank(p);
    const Index extra = problem.fit_intercept ? rank : 0;
    delta.resize(rank + extra);
    for (Index j = 0; j < rank; ++j) delta[j] = problem.outputs.eigenvalue(j);
    if (extra > 0) delta.tail(rank) = delta.head(rank).eval();
    right.resize(n, rank + extra);
    if (problem.outputs.identity()) {
      right.leftCols(rank) = root_weights.asDiagonal() * rows.targets;
    } else {
      right.leftCols(rank) = root_weights.asDiagonal() * (rows.targets * problem.outputs.vectors);
    }
    if (extra > 0) right.rightCols(rank).colwise() = root_weights;
  }

  LinearSolution finish(const Matrix<double>& solved, const DualRows& rows, const SquaredLossProblem& problem) const {
    Matrix<double> c = solved.leftCols(rank);
    Vector<double> b = Vector<double>::Zero(rank);
    if (problem.fit_intercept) {
      const auto ones = solved.rightCols(rank);
      for (Index j = 0; j < rank; ++j) {
        const double mass = root_weights.dot(ones.col(j));
        b[j] = mass > 0 ? root_weights.dot(c.col(j)) / mass : 0.0;
        c.col(j) -= b[j] * ones.col(j);
      }
    }
    c = root_weights.asDiagonal() * c;
    for (Index j = 0; j < rank; ++j) c.col(j) *= std::sqrt(delta[j]);
    // Where A is zero f is zero, and the intercept is the mean, the origin.
    Vector<double> full = problem.outputs.identity() ? b : Vector<double>(problem.outputs.vectors * b);
    return {std::move(c), problem.fit_intercept ? Vector<double>(rows.origin + full)
                                                : Vector<double>(Vector<double>::Zero(rows.origin.size()))};
  }
};

}  // namespace

LinearSolution solve_dual(Matrix<double>& K, const DualRows& rows, const SquaredLossProblem& problem,
                          const Execution& execution, SolveReport& report) {
  const Index n = K.rows();
  DualSystem system(rows, problem);
  if (rows.weights.size() > 0) {
    for (Index i = 0; i < n; ++i) {
      K.row(i).head(i + 1).array() *= system.root_weights[i] * system.root_weights.head(i + 1).transpose().array();
    }
  }
  solve_shifted(K.data(), n, K.outerStride(), system.delta, problem.alpha, system.right, execution, report);
  return system.finish(system.right, rows, problem);
}

LinearSolution solve_dual_cg(const SymmetricProduct& product, const DualRows& rows, const SquaredLossProblem& problem,
                             const CgOptions& options, const Execution& execution, SolveReport& report) {
  const DualSystem system(rows, problem);
  Matrix<double> scaled;
  const auto weighted = [&](const Matrix<double>& P, Matrix<double>& HP) {
    scaled = system.root_weights.asDiagonal() * P;
    product(scaled, HP);
    HP = system.root_weights.asDiagonal() * HP;
  };
  const Matrix<double> solved =
      solve_shifted_cg(weighted, system.delta, problem.alpha, system.right, options, execution, report);
  return system.finish(solved, rows, problem);
}

}  // namespace carmina
