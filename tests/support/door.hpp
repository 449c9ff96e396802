// tests/support/door.hpp -- sums of a map's features over rows in memory, through the door.
#pragma once
#include "features/feature_rows.hpp"

namespace carmina::testing {

// out += phi(X)ᵀ R
template <ScalarMap M>
void adjoint(const M& map, ConstView<typename M::Scalar> X, ConstView<typename M::Scalar> R, Matrix<double>& out,
             const Execution& execution) {
  MemoryRows<typename M::Scalar> memory(X);
  const DataRows<typename M::Scalar> rows(memory);
  Matrix<double> sum;
  rows_of(map, rows, FeatureStorage::none, execution)->adjoint(R.template cast<double>(), sum);
  out += sum;
}

// out += phi(X)ᵀ diag(w) phi(X) theta
template <ScalarMap M>
void normal_operator(const M& map, ConstView<typename M::Scalar> X, const typename M::Scalar* w,
                     ConstView<typename M::Scalar> theta, Matrix<double>& out, const Execution& execution) {
  using T = typename M::Scalar;
  const Matrix<T> none(X.rows(), 0);
  MemoryRows<T> memory(X, none, w);
  const DataRows<T> rows(memory);
  Matrix<double> sum;
  rows_of(map, rows, FeatureStorage::none, execution)->normal(theta.template cast<double>(), sum);
  out += sum;
}

}  // namespace carmina::testing
