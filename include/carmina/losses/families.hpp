// losses/families.hpp -- what a loss supplies. A loss l(f, y) is of one row: predictions f and targets y, p numbers
// each.
//
// There are two families, and row_functions.hpp has the loops over outputs for both. With l* the conjugate,
// l*(u) = sup_f u.f - l(f, y), and prox_rho(z) = argmin_f l(f, y) + |f - z|^2 / (2 rho)  (SPEC 2c):
//
// - radial: l(f, y) = g(|r|), r = f - y, in the Euclidean norm. Then l*(u) = g*(|u|) + u.y, and prox_rho(y + u) lies on
//   the way from y to y + u, at length shrink(|u|, rho).
// - entrywise: l(f, y) = sum_j l_j(f_j, y_j).
#pragma once
#include <carmina/core/matrix.hpp>
#include <concepts>

namespace carmina {

template <class L>
concept RadialLoss = L::radial && requires(const L& loss, double n, double rho, Index p) {
  requires std::same_as<const bool, decltype(L::smooth)>;    // whether the gradient is Lipschitz
  { loss.value(n) } -> std::same_as<double>;                 // g(n), n >= 0
  { loss.slope(n) } -> std::same_as<double>;                 // a subgradient of g
  { loss.curvature(n) } -> std::same_as<double>;             // g'' if smooth, else 0
  { loss.shrink(n, rho) } -> std::same_as<double>;           // argmin_v g(v) + (v - n)^2 / (2 rho)
  { loss.shrink_slope(n, rho) } -> std::same_as<double>;     // its derivative by n, in [0, 1]
  { loss.conjugate(n) } -> std::same_as<double>;             // g*(n) for n <= radius()
  { loss.radius() } -> std::same_as<double>;                 // g* is infinite beyond it
  loss.check(p);                                             // Error if it is not for p outputs
  { loss.expected_target(n) } -> std::same_as<const char*>;  // what a target must be, if this one is not; else null
};

template <class L>
concept EntrywiseLoss = !L::radial && !L::smooth && requires(const L& loss, double f, double y, double rho, Index j) {
  { loss.value(f, y, j) } -> std::same_as<double>;            // l_j(f, y)
  { loss.slope(f, y, j) } -> std::same_as<double>;            // a subgradient by f
  { loss.prox(f, y, rho, j) } -> std::same_as<double>;        // prox_rho at f
  { loss.prox_slope(f, y, rho, j) } -> std::same_as<double>;  // its derivative by f, 0 or 1
  { loss.conjugate(f, y, j) } -> std::same_as<double>;        // l_j*(f) for low <= f <= high
  { loss.low(y, j) } -> std::same_as<double>;
  { loss.high(y, j) } -> std::same_as<double>;
  loss.check(j);
  { loss.expected_target(y) } -> std::same_as<const char*>;
};

// What radial losses have in common: they take any target and any number of outputs.
struct Radial {
  static constexpr bool radial = true;
  void check(Index) const {}
  const char* expected_target(double) const { return nullptr; }
  bool operator==(const Radial&) const = default;
};

}  // namespace carmina
