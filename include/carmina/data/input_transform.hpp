// data/input_transform.hpp -- what is done to each input row before a kernel sees it: fill, shift, scale, limit,
// rotate.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cmath>
#include <limits>
#include <vector>

namespace carmina {

// u_j = (x_j - shift_j) * factor_j, at most `limit` away from 0, a missing x_j (NaN) taken as fill_j first; then
// x' = metric u. Empty vectors and an empty metric leave what they are given as it is. With M = metricᵀ metric a kernel
// of |x' - z'| is a kernel of ((u - v)ᵀ M (u - v))^½: the metric that was learnt from the data (models/choose).
struct InputTransform {
  Vector<double> shift, factor, fill;
  double limit = std::numeric_limits<double>::infinity();
  Matrix<double> metric = {};  // (d, d)

  bool identity() const { return shift.size() == 0 && fill.size() == 0 && metric.size() == 0 && std::isinf(limit); }

  // What is missing in X (rows, d), filled: rows that are kept have numbers alone.
  template <Real T>
  void fill_missing(Matrix<T>& X) const {
    for (Index i = 0; fill.size() > 0 && i < X.rows(); ++i) {
      for (Index j = 0; j < X.cols(); ++j) {
        if (std::isnan(X(i, j))) X(i, j) = static_cast<T>(fill[j]);
      }
    }
  }

  // (rows, d) from x, row stride ldx, to out, dense.
  template <Real T>
  void apply(const T* x, Index ldx, Index rows, Index d, T* out) const {
    Vector<double> row(metric.size() > 0 ? d : 0);
    for (Index i = 0; i < rows; ++i, x += ldx, out += d) {
      for (Index j = 0; j < d; ++j) {
        auto value = static_cast<double>(x[j]);
        if (fill.size() > 0 && value != value) value = fill[j];
        if (shift.size() > 0) value = (value - shift[j]) * factor[j];
        if (value > limit) value = limit;
        if (value < -limit) value = -limit;
        if (row.size() > 0) {
          row[j] = value;
        } else {
          out[j] = static_cast<T>(value);
        }
      }
      if (row.size() == 0) continue;
      for (Index j = 0; j < d; ++j) out[j] = static_cast<T>(metric.row(j).dot(row));
    }
  }
};

}  // namespace carmina
