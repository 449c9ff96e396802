// losses/row_functions.hpp -- a loss on one row of p outputs: the loops over outputs, written once for all families.
#pragma once
#include <algorithm>
#include <carmina/losses/families.hpp>
#include <cmath>

namespace carmina {

// |a - b|
inline double row_distance(const double* a, const double* b, Index p) {
  double square = 0;
  for (Index j = 0; j < p; ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

// l(f, y)
template <class L>
double row_value(const L& loss, const double* f, const double* y, Index p) {
  if constexpr (RadialLoss<L>) {
    return loss.value(row_distance(f, y, p));
  } else if constexpr (WholeRowLoss<L>) {
    return loss.value(f, y, p);
  } else {
    double sum = 0;
    for (Index j = 0; j < p; ++j) sum += loss.value(f[j], y[j], j);
    return sum;
  }
}

// What output j costs alone: of losses of a whole row its part of the row's.
template <class L>
double row_part(const L& loss, const double* f, const double* y, Index p, Index j) {
  if constexpr (RadialLoss<L>) {
    return loss.value(std::abs(f[j] - y[j]));
  } else if constexpr (WholeRowLoss<L>) {
    return loss.part(f, y, p, j);
  } else {
    return loss.value(f[j], y[j], j);
  }
}

// out = a subgradient by f: g'(n) r/n if radial
template <class L>
void row_gradient(const L& loss, const double* f, const double* y, Index p, double* out) {
  if constexpr (RadialLoss<L>) {
    const double n = row_distance(f, y, p), factor = n > 0 ? loss.slope(n) / n : 0;
    for (Index j = 0; j < p; ++j) out[j] = factor * (f[j] - y[j]);
  } else if constexpr (WholeRowLoss<L>) {
    loss.gradient(f, y, p, out);
  } else {
    for (Index j = 0; j < p; ++j) out[j] = loss.slope(f[j], y[j], j);
  }
}

// out = argmin_f l(f, y) + |f - z|^2 / (2 rho); out may be z
template <class L>
void row_prox(const L& loss, const double* z, const double* y, double rho, Index p, double* out) {
  if constexpr (RadialLoss<L>) {
    const double n = row_distance(z, y, p), v = loss.shrink(n, rho);
    if (v == n) {
      std::copy_n(z, p, out);  // and not y + (z - y), which rounds
    } else {
      for (Index j = 0; j < p; ++j) out[j] = y[j] + v / n * (z[j] - y[j]);
    }
  } else if constexpr (WholeRowLoss<L>) {
    loss.prox(z, y, rho, p, out);
  } else {
    for (Index j = 0; j < p; ++j) out[j] = loss.prox(z[j], y[j], rho, j);
  }
}

// l*(u) for u in its domain: g*(|u|) + u.y if radial
template <class L>
double row_conjugate(const L& loss, const double* u, const double* y, Index p) {
  double sum = 0;
  if constexpr (RadialLoss<L>) {
    double square = 0;
    for (Index j = 0; j < p; ++j) {
      square += u[j] * u[j];
      sum += u[j] * y[j];
    }
    return loss.conjugate(std::sqrt(square)) + sum;
  } else if constexpr (WholeRowLoss<L>) {
    return loss.conjugate(u, y, p);
  } else {
    for (Index j = 0; j < p; ++j) sum += loss.conjugate(u[j], y[j], j);
    return sum;
  }
}

// u <- the point nearest to it in the domain of l*: a ball, an interval for each output, or a simplex
template <class L>
void row_into_domain(const L& loss, double* u, const double* y, Index p) {
  if constexpr (RadialLoss<L>) {
    double square = 0;
    for (Index j = 0; j < p; ++j) square += u[j] * u[j];
    const double n = std::sqrt(square);
    if (n > loss.radius()) {
      for (Index j = 0; j < p; ++j) u[j] *= loss.radius() / n;
    }
  } else if constexpr (WholeRowLoss<L>) {
    loss.into_domain(u, y, p);
  } else {
    for (Index j = 0; j < p; ++j) u[j] = std::clamp(u[j], loss.low(y[j], j), loss.high(y[j], j));
  }
}

// D = diag(diagonal) + along direction directionᵀ: second derivatives by v, one of the generalised ones at a kink.
// rho > 0: of the envelope e_rho(v) = min_f l(f, y) + |f - v|^2 / (2 rho), D = (I - J) / rho with J the derivative of
// the prox. rho = 0: of l itself, for smooth losses.
// Radial, d = r/n: l has g'(n)/n (I - d dᵀ) + g''(n) d dᵀ, and J = shrink(n)/n (I - d dᵀ) + shrink'(n) d dᵀ. At n = 0
// the two factors meet. Entrywise: no direction, and along = 0.
template <class L>
void row_curvature(const L& loss, const double* v, const double* y, double rho, Index p, double* diagonal,
                   double* direction, double& along) {
  if constexpr (RadialLoss<L>) {
    const double n = row_distance(v, y, p);
    const double radially = rho > 0 ? (1 - loss.shrink_slope(n, rho)) / rho : loss.curvature(n);
    double across = radially;
    if (n > 0) across = rho > 0 ? (n - loss.shrink(n, rho)) / (rho * n) : loss.slope(n) / n;
    along = radially - across;
    for (Index j = 0; j < p; ++j) {
      diagonal[j] = across;
      direction[j] = n > 0 ? (v[j] - y[j]) / n : 0;
    }
  } else if constexpr (WholeRowLoss<L>) {
    loss.curvature(v, y, rho, p, diagonal, direction, along);
  } else {
    along = 0;
    for (Index j = 0; j < p; ++j) {
      diagonal[j] = rho > 0 ? (1 - loss.prox_slope(v[j], y[j], rho, j)) / rho : 0;
      direction[j] = 0;
    }
  }
}

}  // namespace carmina
