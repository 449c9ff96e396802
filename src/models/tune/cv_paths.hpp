// models/tune/cv_paths.hpp -- what a cross-validation asks of squared-loss machines for every alpha: losses on other
// rows.
//
// In the eigenbasis of A the outputs are (delta_j H + alpha I) x_j = r_j with the same H: one decomposition of it
// serves all alphas (solvers/linear/shifted_path.hpp).
#pragma once
#include "features/expansion.hpp"
#include "features/moments.hpp"
#include "solvers/linear/shifted_path.hpp"

#include <carmina/kernels/coupling.hpp>

namespace carmina {

// In the coefficients of the features, from sums over the rows alone (mathematics.md 1d). With an expansion the kernel
// is not separable and `outputs` is ignored.
class PrimalPath {
 public:
  PrimalPath(const Moments& training, const OutputFactor& outputs, const Expansion* expansion, bool fit_intercept,
             double smallest_alpha, const Execution& execution);

  // Mean of |f + b - y|^2 / 2 over other rows, from their sums: exact but for rounding relative to the mean of |y|^2.
  double mean_loss(double alpha, const Moments& rows) const;

 private:
  Matrix<double> coefficients(double alpha) const;  // C (features, p): f = Cᵀ phi

  const Moments& training_;
  Matrix<double> root_;  // B (p, rank); empty: the identity
  const Expansion* expansion_;
  bool fit_intercept_;
  Execution execution_;
  ShiftedPath spectrum_;
};

// In the coefficients of the rows (mathematics.md 2b).
class DualPath {
 public:
  // K of the training rows, and of the rows to predict with them.
  DualPath(Matrix<double> K, const Matrix<double>& cross, Matrix<double> Y, const Vector<double>& weights,
           const OutputFactor& outputs, bool fit_intercept, const Execution& execution);

  Matrix<double> predictions(double alpha) const;  // (rows to predict, p)

 private:
  const OutputFactor& outputs_;
  bool fit_intercept_;
  Vector<double> origin_;  // (p)
  ShiftedPath spectrum_;
  Vector<double> rotated_weights_;  // Uᵀ w^(1/2)
  Matrix<double> rotated_cross_;    // cross W^(1/2) U (rows to predict, training rows)
};

}  // namespace carmina
