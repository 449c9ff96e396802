// losses/hinge.hpp -- the hinge loss of support vector machines: targets are signs, and a margin of 1 costs nothing.
#pragma once
#include <algorithm>
#include <carmina/losses/families.hpp>

namespace carmina {

// l_j(f, y) = max(0, 1 - y f), y = +-1,   l_j*(u) = u y on -1 <= u y <= 0
struct Hinge {
  static constexpr const char* name = "hinge";
  static constexpr bool radial = false, smooth = false;

  double value(double f, double y, Index) const { return std::max(0.0, 1 - y * f); }
  double slope(double f, double y, Index) const { return y * f < 1 ? -y : 0; }
  // A step of rho towards the margin, which is at f = y, and not past it.
  double prox(double z, double y, double rho, Index) const {
    if (y * z >= 1) return z;
    return y > 0 ? std::min(z + rho, y) : std::max(z - rho, y);
  }
  double prox_slope(double z, double y, double rho, Index) const { return y * z > 1 || y * z < 1 - rho ? 1 : 0; }
  double conjugate(double u, double y, Index) const { return u * y; }
  double low(double y, Index) const { return y > 0 ? -1 : 0; }
  double high(double y, Index) const { return y > 0 ? 0 : 1; }

  void check(Index) const {}
  const char* expected_target(double y) const { return y == 1 || y == -1 ? nullptr : "-1 or 1"; }

  bool operator==(const Hinge&) const = default;
};

}  // namespace carmina
