// losses/squared.hpp -- half the squared norm of the residual.
#pragma once
#include <carmina/losses/families.hpp>
#include <limits>

namespace carmina {

// g(n) = n^2 / 2,   g*(n) = n^2 / 2
struct Squared : Radial {
  static constexpr const char* name = "squared";
  static constexpr bool smooth = true;

  double value(double n) const { return n * n / 2; }
  double slope(double n) const { return n; }
  double curvature(double) const { return 1; }
  double shrink(double n, double rho) const { return n / (1 + rho); }
  double shrink_slope(double, double rho) const { return 1 / (1 + rho); }
  double conjugate(double n) const { return n * n / 2; }
  double radius() const { return std::numeric_limits<double>::infinity(); }

  bool operator==(const Squared&) const = default;
};

}  // namespace carmina
