// losses/absolute.hpp -- the norm of the residual: for one output its absolute value, whose minimiser is a median.
#pragma once
#include <algorithm>
#include <carmina/losses/families.hpp>

namespace carmina {

// g(n) = n,   g*(n) = 0 on n <= 1
struct Absolute : Radial {
  static constexpr const char* name = "absolute";
  static constexpr bool smooth = false;

  double value(double n) const { return n; }
  double slope(double n) const { return n > 0 ? 1 : 0; }
  double curvature(double) const { return 0; }
  double shrink(double n, double rho) const { return std::max(n - rho, 0.0); }
  double shrink_slope(double n, double rho) const { return n > rho ? 1 : 0; }
  double conjugate(double) const { return 0; }
  double radius() const { return 1; }

  bool operator==(const Absolute&) const = default;
};

}  // namespace carmina
