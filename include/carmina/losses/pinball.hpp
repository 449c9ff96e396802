// losses/pinball.hpp -- the pinball loss, whose minimisers are quantiles: a level for each output, or one for all.
#pragma once
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/losses/families.hpp>
#include <utility>
#include <vector>

namespace carmina {

// l_j(f, y) = max(tau_j e, (tau_j - 1) e), e = y - f,   l_j*(u) = u y on -tau_j <= u <= 1 - tau_j
// Differs from [ElAhmad2023]: it takes f - y for e, which estimates the quantile 1 - tau (SPEC 2c).
struct Pinball {
  static constexpr const char* name = "pinball";
  static constexpr bool radial = false, smooth = false;
  std::vector<double> levels;

  explicit Pinball(std::vector<double> taus = {0.5}) : levels(std::move(taus)) {
    require(!levels.empty(), "Pinball: levels must be one number or more, found none");
    for (const double tau : levels) {
      require(tau > 0 && tau < 1, "Pinball: levels must be between 0 and 1, found {}", tau);
    }
  }

  double level(Index j) const { return levels.size() == 1 ? levels[0] : levels[static_cast<std::size_t>(j)]; }

  double value(double f, double y, Index j) const { return std::max(level(j) * (y - f), (level(j) - 1) * (y - f)); }
  double slope(double f, double y, Index j) const { return f < y ? -level(j) : f > y ? 1 - level(j) : 0; }
  // A step of rho times the slope towards y, and not past it.
  double prox(double z, double y, double rho, Index j) const {
    return z < y ? std::min(z + rho * level(j), y) : std::max(z - rho * (1 - level(j)), y);
  }
  double prox_slope(double z, double y, double rho, Index j) const {
    return y - z > rho * level(j) || z - y > rho * (1 - level(j)) ? 1 : 0;
  }
  double conjugate(double u, double y, Index) const { return u * y; }
  double low(double, Index j) const { return -level(j); }
  double high(double, Index j) const { return 1 - level(j); }

  void check(Index p) const {
    require(levels.size() == 1 || static_cast<Index>(levels.size()) == p,
            "Pinball: levels must be one number or one for each of {} output{}, found {}", p, p == 1 ? "" : "s",
            levels.size());
  }
  const char* expected_target(double) const { return nullptr; }

  bool operator==(const Pinball&) const = default;
};

}  // namespace carmina
