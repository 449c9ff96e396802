// losses/epsilon_insensitive.hpp -- residuals up to epsilon cost nothing; beyond, their norm or half its square.
#pragma once
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/losses/families.hpp>
#include <cmath>
#include <limits>

namespace carmina {

// [ElAhmad2023, App. G]  g(n) = max(n - epsilon, 0),   g*(n) = epsilon n on n <= 1
struct EpsilonInsensitive : Radial {
  static constexpr const char* name = "epsilon_insensitive";
  static constexpr bool smooth = false;
  double epsilon;

  explicit EpsilonInsensitive(double width = 0.1) : epsilon(width) {
    require(epsilon >= 0 && std::isfinite(epsilon),
            "EpsilonInsensitive: epsilon must be finite and not negative, found {}", epsilon);
  }

  double value(double n) const { return std::max(n - epsilon, 0.0); }
  double slope(double n) const { return n > epsilon ? 1 : 0; }
  double curvature(double) const { return 0; }
  // A step of rho towards the tube, and not into it.
  double shrink(double n, double rho) const { return n <= epsilon ? n : std::max(epsilon, n - rho); }
  double shrink_slope(double n, double rho) const { return n < epsilon || n > epsilon + rho ? 1 : 0; }
  double conjugate(double n) const { return epsilon * n; }
  double radius() const { return 1; }

  bool operator==(const EpsilonInsensitive&) const = default;
};

// g(n) = max(n - epsilon, 0)^2 / 2,   g*(n) = n^2 / 2 + epsilon n
struct SquaredEpsilonInsensitive : Radial {
  static constexpr const char* name = "squared_epsilon_insensitive";
  static constexpr bool smooth = true;
  double epsilon;

  explicit SquaredEpsilonInsensitive(double width = 0.1) : epsilon(width) {
    require(epsilon >= 0 && std::isfinite(epsilon),
            "SquaredEpsilonInsensitive: epsilon must be finite and not negative, found {}", epsilon);
  }

  double value(double n) const { return slope(n) * slope(n) / 2; }
  double slope(double n) const { return std::max(n - epsilon, 0.0); }
  double curvature(double n) const { return n >= epsilon ? 1 : 0; }
  // v - epsilon = (n - epsilon) / (1 + rho) outside the tube.
  double shrink(double n, double rho) const { return n <= epsilon ? n : epsilon + (n - epsilon) / (1 + rho); }
  double shrink_slope(double n, double rho) const { return n < epsilon ? 1 : 1 / (1 + rho); }
  double conjugate(double n) const { return n * n / 2 + epsilon * n; }
  double radius() const { return std::numeric_limits<double>::infinity(); }

  bool operator==(const SquaredEpsilonInsensitive&) const = default;
};

}  // namespace carmina
