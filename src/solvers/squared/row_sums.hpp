// solvers/squared/row_sums.hpp -- what the primal solvers make of the sums over rows: centred products and the
// intercept.
#pragma once
#include "solvers/squared/squared_loss.hpp"

namespace carmina {

// HP = phiᵀW phi P, about the mean of the features when there is an intercept.
inline void normal_product(const FeatureRows& rows, const RowSums& sums, bool fit_intercept, const Matrix<double>& P,
                           Matrix<double>& HP) {
  rows.normal(P, HP);
  if (fit_intercept) HP.noalias() -= sums.feature_sums / sums.weight * (sums.feature_sums.transpose() * P);
}

// b = origin + (1ᵀW(Y - origin) - 1ᵀW phi coefficients) / 1ᵀW1 for coefficients (features, p)
inline LinearSolution with_intercept(Matrix<double> coefficients, const RowSums& sums, const Vector<double>& origin,
                                     bool fit_intercept) {
  Vector<double> b = Vector<double>::Zero(origin.size());
  if (fit_intercept) b = origin + (sums.target_sums - coefficients.transpose() * sums.feature_sums) / sums.weight;
  return {std::move(coefficients), std::move(b)};
}

}  // namespace carmina
