// solvers/squared/dual_system.hpp -- the dual of a squared-loss fit as shifted systems, and its solution put together
// again.
#pragma once
#include "solvers/squared/squared_loss.hpp"

#include <cmath>

namespace carmina {

// Lower triangle of K (n, n) <- W^(1/2) K W^(1/2).
inline void weigh(Matrix<double>& K, const Vector<double>& root_weights) {
  for (Index i = 0; i < K.rows(); ++i) {
    K.row(i).head(i + 1).array() *= root_weights[i] * root_weights.head(i + 1).transpose().array();
  }
}

// With c = W^(1/2) c', H = W^(1/2) K W^(1/2): (delta_j H + alpha I) c'_j = w^(1/2) (y_j - b_j). Right-hand sides are
// the rotated targets and, for the intercept, w^(1/2) once per column: its solution s_j gives b_j = <w^(1/2), c'_j> /
// <w^(1/2), s_j>, the value that makes 1ᵀ c_j vanish.
struct DualSystem {
  const OutputFactor& outputs;
  bool fit_intercept;
  Vector<double> root_weights, delta;
  Matrix<double> right;
  Index rank;

  DualSystem(const DualRows& rows, const OutputFactor& factor, bool intercept)
      : outputs(factor), fit_intercept(intercept) {
    const Index n = rows.targets.rows(), p = rows.targets.cols();
    root_weights =
        rows.weights.size() > 0 ? Vector<double>(rows.weights.cwiseSqrt()) : Vector<double>(Vector<double>::Ones(n));
    rank = outputs.rank(p);
    const Index extra = fit_intercept ? rank : 0;
    delta.resize(rank + extra);
    for (Index j = 0; j < rank; ++j) delta[j] = outputs.eigenvalue(j);
    if (extra > 0) delta.tail(rank) = delta.head(rank).eval();
    right.resize(n, rank + extra);
    if (outputs.identity()) {
      right.leftCols(rank) = root_weights.asDiagonal() * rows.targets;
    } else {
      right.leftCols(rank) = root_weights.asDiagonal() * (rows.targets * outputs.vectors);
    }
    if (extra > 0) right.rightCols(rank).colwise() = root_weights;
  }

  // <w^(1/2), s_j>
  double mass(const Matrix<double>& solved, Index j) const { return root_weights.dot(solved.col(rank + j)); }

  // c' (n, rank) and b (rank) of the rotated outputs, b about the rotated origin.
  struct Rotated {
    Matrix<double> c;
    Vector<double> b;
  };
  Rotated rotated(const Matrix<double>& solved) const {
    Rotated found{solved.leftCols(rank), Vector<double>::Zero(rank)};
    for (Index j = 0; fit_intercept && j < rank; ++j) {
      const double weight = mass(solved, j);
      found.b[j] = weight > 0 ? root_weights.dot(found.c.col(j)) / weight : 0.0;
      found.c.col(j) -= found.b[j] * solved.col(rank + j);
    }
    return found;
  }
  // The same of solved + beyond / alpha, where K takes `beyond` to zero (RangeOnly): it has a part in b, by
  // <w^(1/2), beyond_j> = <beyond of w^(1/2), beyond_j>, and none in K c.
  Rotated rotated(const Matrix<double>& solved, const Matrix<double>& beyond, double alpha) const {
    if (beyond.size() == 0) return rotated(solved);
    Rotated found{solved.leftCols(rank), Vector<double>::Zero(rank)};
    for (Index j = 0; fit_intercept && j < rank; ++j) {
      const auto flat = beyond.col(rank + j);
      const double weight = alpha * mass(solved, j) + flat.squaredNorm();
      const double sum = alpha * root_weights.dot(found.c.col(j)) + flat.dot(beyond.col(j));
      found.b[j] = weight > 0 ? sum / weight : 0.0;
      found.c.col(j) -= found.b[j] * solved.col(rank + j);
    }
    return found;
  }

  LinearSolution finish(const Matrix<double>& solved, const DualRows& rows) const {
    return finish(rotated(solved), rows);
  }
  LinearSolution finish(Rotated found, const DualRows& rows) const {
    Matrix<double>& c = found.c;
    c = root_weights.asDiagonal() * c;
    for (Index j = 0; j < rank; ++j) c.col(j) *= std::sqrt(delta[j]);
    // Where A is zero f is zero, and the intercept is the mean, the origin.
    Vector<double> full = outputs.identity() ? found.b : Vector<double>(outputs.vectors * found.b);
    return {std::move(c), fit_intercept ? Vector<double>(rows.origin + full)
                                        : Vector<double>(Vector<double>::Zero(rows.origin.size()))};
  }
};

}  // namespace carmina
