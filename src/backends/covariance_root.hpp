// backends/covariance_root.hpp -- a square root of a covariance matrix, for draws from its distribution.
#pragma once
#include "backends/tiled.hpp"

#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <cmath>

namespace carmina::backend {

// B (n, n) with B Bᵀ = C, for C positive semi-definite to rounding, by its lower triangle: B z, z standard normal, has
// the covariance C.
inline Matrix<double> covariance_root(Matrix<double> C, const Execution& execution) {
  const Index n = C.rows();
  Vector<double> values(n);
  small_symmetric_eigen(n, C.data(), C.outerStride(), values.data(), execution);  // C becomes Uᵀ
  return C.transpose() * values.cwiseMax(0).cwiseSqrt().asDiagonal();
}

}  // namespace carmina::backend
