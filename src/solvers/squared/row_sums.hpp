// solvers/squared/row_sums.hpp -- what the primal solvers make of the sums over rows: centred products and the
// intercept.
#pragma once
#include "solvers/squared/squared_loss.hpp"

namespace carmina {

// HP = phiᵀW phi P, about the mean of the features when there is an intercept. Where targets are missing, column a of P
// is multiplied by the rows that output a has, about their mean.
inline void normal_product(const FeatureRows& rows, const RowSums& sums, bool fit_intercept, const Matrix<double>& P,
                           Matrix<double>& HP) {
  rows.normal(P, HP);
  if (!fit_intercept) return;
  if (sums.missing()) {
    const Eigen::RowVectorXd fits = sums.own_feature_sums.cwiseProduct(P).colwise().sum();
    HP.noalias() -= sums.own_feature_sums * fits.transpose().cwiseQuotient(sums.own_weight).asDiagonal();
  } else {
    HP.noalias() -= sums.feature_sums / sums.weight * (sums.feature_sums.transpose() * P);
  }
}

// b = origin + (1ᵀW(Y - origin) - 1ᵀW phi coefficients) / 1ᵀW1 for coefficients (features, p)
inline LinearSolution with_intercept(Matrix<double> coefficients, const RowSums& sums, const Vector<double>& origin,
                                     bool fit_intercept) {
  Vector<double> b = Vector<double>::Zero(origin.size());
  if (fit_intercept && sums.missing()) {
    const Vector<double> fits = sums.own_feature_sums.cwiseProduct(coefficients).colwise().sum().transpose();
    b = origin + (sums.target_sums - fits).cwiseQuotient(sums.own_weight);
  } else if (fit_intercept) {
    b = origin + (sums.target_sums - coefficients.transpose() * sums.feature_sums) / sums.weight;
  }
  return {std::move(coefficients), std::move(b)};
}

}  // namespace carmina
