// solvers/squared/block_system.hpp -- the dual of a squared-loss fit when the kernel's values are p x p blocks.
#pragma once
#include "solvers/squared/squared_loss.hpp"

#include <Eigen/LU>

#include <cmath>

namespace carmina {

// Row i p + a stands for output a of row i. With c = W^(1/2) c' and H = W^(1/2) K W^(1/2):
// (H + alpha I) c' = w^(1/2) (y - b). Right-hand sides: the targets, then w^(1/2) (x) e_a for each output, whose
// solutions S give b from (EᵀS) b = Eᵀ c', E = w^(1/2) (x) I, so that each output's coefficients sum to zero.
struct BlockSystem {
  Index n, p;
  bool fit_intercept;
  Vector<double> root_weights;  // (n p)
  Matrix<double> right;         // (n p, 1 + p)

  BlockSystem(const DualRows& rows, bool intercept)
      : n(rows.targets.rows()), p(rows.targets.cols()), fit_intercept(intercept) {
    root_weights = Vector<double>::Ones(n * p);
    for (Index i = 0; rows.weights.size() > 0 && i < n; ++i)
      root_weights.segment(i * p, p).setConstant(std::sqrt(rows.weights[i]));
    right = Matrix<double>::Zero(n * p, fit_intercept ? 1 + p : 1);
    right.col(0) = root_weights.cwiseProduct(Eigen::Map<const Vector<double>>(rows.targets.data(), n * p));
    for (Index a = 0; fit_intercept && a < p; ++a) {
      for (Index i = 0; i < n; ++i) right(i * p + a, 1 + a) = root_weights[i * p + a];
    }
  }

  // EᵀS
  Eigen::MatrixXd mass(const Matrix<double>& solved) const {
    return right.rightCols(p).transpose() * solved.rightCols(p);
  }

  // c' (n p) and b (p), about the origin.
  struct Found {
    Vector<double> c, b;
  };
  Found found(const Matrix<double>& solved) const {
    Found it{solved.col(0), Vector<double>::Zero(p)};
    if (fit_intercept) {
      it.b = mass(solved).partialPivLu().solve(right.rightCols(p).transpose() * it.c);
      it.c -= solved.rightCols(p) * it.b;
    }
    return it;
  }

  LinearSolution finish(const Matrix<double>& solved, const DualRows& rows) const {
    return finish(found(solved), rows);
  }
  LinearSolution finish(const Found& it, const DualRows& rows) const {
    const Vector<double> c = it.c.cwiseProduct(root_weights);
    Vector<double> intercept = Vector<double>::Zero(p);
    if (fit_intercept) intercept = rows.origin + it.b;
    return {Eigen::Map<const Matrix<double>>(c.data(), n, p), std::move(intercept)};
  }
};

}  // namespace carmina
