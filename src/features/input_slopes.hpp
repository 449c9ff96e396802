// features/input_slopes.hpp -- derivatives of what is done to inputs before a kernel sees them.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/data/input_transform.hpp>

#include <cmath>
#include <vector>

namespace carmina {

// Of the scaled input, before the metric, by the input itself: 0 where it is limited or missing. (rows, d); empty where
// all are 1.
inline Matrix<double> input_slopes(const InputTransform& transform, const Matrix<double>& X) {
  if (transform.shift.size() == 0 && std::isinf(transform.limit) && transform.fill.size() == 0) return {};
  Matrix<double> slopes(X.rows(), X.cols());
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < X.cols(); ++j) {
      const bool scaled = transform.shift.size() > 0;
      const double value = scaled ? (X(i, j) - transform.shift[j]) * transform.factor[j] : X(i, j);
      const bool moves = !std::isnan(X(i, j)) && std::abs(value) <= transform.limit;
      slopes(i, j) = !moves ? 0 : scaled ? transform.factor[j] : 1;
    }
  }
  return slopes;
}

// du/dx at a row, the metric with it: (d, d).
inline Matrix<double> input_jacobian(const InputTransform& transform, const Vector<double>& x) {
  const Index d = x.size();
  const Matrix<double> slopes = input_slopes(transform, x.transpose());
  Matrix<double> J = transform.metric.size() > 0 ? transform.metric : Matrix<double>(Matrix<double>::Identity(d, d));
  if (slopes.size() > 0) J = J * slopes.row(0).asDiagonal();
  return J;
}

inline Matrix<double> placed_rows(const InputTransform& transform, const Matrix<double>& X) {
  Matrix<double> out(X.rows(), X.cols());
  transform.apply(X.data(), X.outerStride(), X.rows(), X.cols(), out.data());
  return out;
}

// The one factor that some inputs have: f is the gradient of psi by the scaled inputs, so psi / factor is its
// potential.
inline double common_factor(const InputTransform& transform, const std::vector<Index>& columns) {
  require(transform.metric.size() == 0, "potential: inputs are in a learnt metric, in which a field has none");
  if (transform.shift.size() == 0 || columns.empty()) return 1;
  const double factor = transform.factor[columns[0]];
  for (const Index column : columns) {
    require(transform.factor[column] == factor, "potential: inputs are scaled by different factors");
  }
  return factor;
}

}  // namespace carmina
