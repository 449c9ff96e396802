// backends/cpu/secular.hpp -- eigenvalues of a diagonal matrix and a matrix of rank one.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina::backend {

// d ascending and distinct, no z zero, rho > 0: the j-th root of 1 + rho sum_i z_i² / (d_i - x) = 0, which lies between
// d_j and d_{j+1} (the last: up to d_{k-1} + rho |z|²). It is returned as the pole that is nearest and the distance
// from there, so that every d_i - x = (d_i - d[nearest]) - distance keeps its relative accuracy.
struct SecularRoot {
  Index nearest;
  double distance;
};
SecularRoot secular_root(Index k, const double* d, const double* z, double rho, Index j);

}  // namespace carmina::backend
