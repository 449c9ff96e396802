// losses/row_functions.hpp -- a loss on one row of p outputs: the loops over outputs, written once for all families.
//
// A target that is NaN is missing: the loss is that of the other outputs, entries of theirs or their norm. By a missing
// one's prediction its slope and curvature are zero, its prox moves nothing, and the only point of its conjugate's
// domain is zero. Losses of a whole row have all of its targets (check_targets).
#pragma once
#include <algorithm>
#include <carmina/losses/families.hpp>
#include <cmath>

namespace carmina {

inline bool has_target(double y) { return !std::isnan(y); }

// |f - y|
inline double row_distance(const double* f, const double* y, Index p) {
  double square = 0;
  for (Index j = 0; j < p; ++j) {
    if (has_target(y[j])) square += (f[j] - y[j]) * (f[j] - y[j]);
  }
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
    for (Index j = 0; j < p; ++j) {
      if (has_target(y[j])) sum += loss.value(f[j], y[j], j);
    }
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
    for (Index j = 0; j < p; ++j) out[j] = has_target(y[j]) ? factor * (f[j] - y[j]) : 0.0;
  } else if constexpr (WholeRowLoss<L>) {
    loss.gradient(f, y, p, out);
  } else {
    for (Index j = 0; j < p; ++j) out[j] = has_target(y[j]) ? loss.slope(f[j], y[j], j) : 0.0;
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
      for (Index j = 0; j < p; ++j) out[j] = has_target(y[j]) ? y[j] + v / n * (z[j] - y[j]) : z[j];
    }
  } else if constexpr (WholeRowLoss<L>) {
    loss.prox(z, y, rho, p, out);
  } else {
    for (Index j = 0; j < p; ++j) out[j] = has_target(y[j]) ? loss.prox(z[j], y[j], rho, j) : z[j];
  }
}

// l*(u) for u in its domain: g*(|u|) + u.y if radial
template <class L>
double row_conjugate(const L& loss, const double* u, const double* y, Index p) {
  double sum = 0;
  if constexpr (RadialLoss<L>) {
    double square = 0;
    for (Index j = 0; j < p; ++j) {
      if (!has_target(y[j])) continue;
      square += u[j] * u[j];
      sum += u[j] * y[j];
    }
    return loss.conjugate(std::sqrt(square)) + sum;
  } else if constexpr (WholeRowLoss<L>) {
    return loss.conjugate(u, y, p);
  } else {
    for (Index j = 0; j < p; ++j) {
      if (has_target(y[j])) sum += loss.conjugate(u[j], y[j], j);
    }
    return sum;
  }
}

// u <- the point nearest to it in the domain of l*: a ball, an interval for each output, or a simplex
template <class L>
void row_into_domain(const L& loss, double* u, const double* y, Index p) {
  for (Index j = 0; j < p; ++j) {
    if (!has_target(y[j])) u[j] = 0;
  }
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
    for (Index j = 0; j < p; ++j) {
      if (has_target(y[j])) u[j] = std::clamp(u[j], loss.low(y[j], j), loss.high(y[j], j));
    }
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
      diagonal[j] = has_target(y[j]) ? across : 0;
      direction[j] = n > 0 && has_target(y[j]) ? (v[j] - y[j]) / n : 0;
    }
  } else if constexpr (WholeRowLoss<L>) {
    loss.curvature(v, y, rho, p, diagonal, direction, along);
  } else {
    along = 0;
    for (Index j = 0; j < p; ++j) {
      diagonal[j] = rho > 0 && has_target(y[j]) ? (1 - loss.prox_slope(v[j], y[j], rho, j)) / rho : 0;
      direction[j] = 0;
    }
  }
}

}  // namespace carmina
