// losses/huber.hpp -- Huber's loss of a residual vector: square near zero, linear far out.
#pragma once
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/losses/families.hpp>
#include <cmath>

namespace carmina {

// [ElAhmad2023, App. G]  g(n) = n^2 / 2              if n <= kappa
//                               kappa (n - kappa/2)  otherwise,        g*(n) = n^2 / 2 on n <= kappa
struct Huber : Radial {
  static constexpr const char* name = "huber";
  static constexpr bool smooth = true;
  double kappa;

  explicit Huber(double threshold = 1.0) : kappa(threshold) {
    require(kappa > 0 && std::isfinite(kappa), "Huber: kappa must be positive and finite, found {}", kappa);
  }

  double value(double n) const { return n <= kappa ? n * n / 2 : kappa * (n - kappa / 2); }
  double slope(double n) const { return std::min(n, kappa); }
  double curvature(double n) const { return n <= kappa ? 1 : 0; }
  // v = n - rho slope(v): in the square part while v <= kappa, that is n <= (1 + rho) kappa.
  double shrink(double n, double rho) const { return n <= (1 + rho) * kappa ? n / (1 + rho) : n - rho * kappa; }
  double shrink_slope(double n, double rho) const { return n <= (1 + rho) * kappa ? 1 / (1 + rho) : 1; }
  double conjugate(double n) const { return n * n / 2; }
  double radius() const { return kappa; }

  bool operator==(const Huber&) const = default;
};

}  // namespace carmina
