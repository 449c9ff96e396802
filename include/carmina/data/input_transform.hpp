// data/input_transform.hpp -- what is done to each input row before a kernel sees it: fill, shift, scale.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina {

// x'_j = (x_j - shift_j) * factor_j, a missing x_j (NaN) taken as fill_j first. Empty vectors leave inputs as they are.
struct InputTransform {
  Vector<double> shift, factor, fill;

  bool identity() const { return shift.size() == 0 && fill.size() == 0; }

  // (rows, d) from x, row stride ldx, to out, dense.
  template <Real T>
  void apply(const T* x, Index ldx, Index rows, Index d, T* out) const {
    for (Index i = 0; i < rows; ++i, x += ldx, out += d) {
      for (Index j = 0; j < d; ++j) {
        auto value = static_cast<double>(x[j]);
        if (fill.size() > 0 && value != value) value = fill[j];
        out[j] = static_cast<T>(shift.size() > 0 ? (value - shift[j]) * factor[j] : value);
      }
    }
  }
};

}  // namespace carmina
