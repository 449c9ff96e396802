// losses/families.hpp -- the losses, and what a loss supplies.
#pragma once
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/core/parameter.hpp>
#include <carmina/losses/logistic.hpp>
#include <cmath>
#include <concepts>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace carmina {

// What a loss supplies. A loss l(f, y) is of one row: predictions f and targets y, p numbers each.
//
// There are three families, and row_functions.hpp has the loops over outputs for all. With l* the conjugate,
// l*(u) = sup_f u.f - l(f, y), and prox_rho(z) = argmin_f l(f, y) + |f - z|^2 / (2 rho)  (mathematics.md 2c):
//
// - radial: l(f, y) = g(|r|), r = f - y, in the Euclidean norm. Then l*(u) = g*(|u|) + u.y, and prox_rho(y + u) lies on
//   the way from y to y + u, at length shrink(|u|, rho).
// - entrywise: l(f, y) = sum_j l_j(f_j, y_j).
// - of a whole row: the outputs are coupled (logistic.hpp), and the loss has the loops itself.

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

template <class L>
concept WholeRowLoss = !L::radial && L::whole_row && L::smooth &&
                       requires(const L& loss, const double* f, double* out, double rho, double& along, Index p) {
                         { loss.value(f, f, p) } -> std::same_as<double>;
                         { loss.part(f, f, p, p) } -> std::same_as<double>;  // of one output, of the value
                         loss.gradient(f, f, p, out);
                         loss.prox(f, f, rho, p, out);
                         loss.curvature(f, f, rho, p, out, out, along);
                         { loss.conjugate(f, f, p) } -> std::same_as<double>;
                         loss.into_domain(out, f, p);
                         loss.shift(out, f, f, p);  // a gradient, to that of predictions with an intercept more
                         loss.check(p);
                         { loss.expected_row(f, p) } -> std::same_as<const char*>;
                       };

// What radial losses have in common: they take any target and any number of outputs.
struct RadialLossBase {
  static constexpr bool radial = true;
  void check(Index) const {}
  const char* expected_target(double) const { return nullptr; }
  bool operator==(const RadialLossBase&) const = default;
};

// Half the squared norm of the residual.
// g(n) = n^2 / 2,   g*(n) = n^2 / 2
struct Squared : RadialLossBase {
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

// Huber's loss of a residual vector: square near zero, linear far out.
// [ElAhmad2023, App. G]  g(n) = n^2 / 2              if n <= kappa
//                               kappa (n - kappa/2)  otherwise,        g*(n) = n^2 / 2 on n <= kappa
struct Huber : RadialLossBase {
  static constexpr const char* name = "huber";
  static constexpr bool smooth = true;
  double kappa;

  explicit Huber(double threshold = 1.0) : kappa(threshold) {
    require(kappa > 0 && std::isfinite(kappa), "Huber: kappa must be positive and finite, found {}", kappa);
  }
  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"kappa", &Huber::kappa, "Where the huber loss turns linear [auto; with --alpha NUMBER 1]"}};
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

// The norm of the residual: for one output its absolute value, whose minimiser is a median.
// g(n) = n,   g*(n) = 0 on n <= 1
struct Absolute : RadialLossBase {
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

// Residuals up to epsilon cost nothing; beyond, their norm or half its square.
// [ElAhmad2023, App. G]  g(n) = max(n - epsilon, 0),   g*(n) = epsilon n on n <= 1
struct EpsilonInsensitive : RadialLossBase {
  static constexpr const char* name = "epsilon_insensitive";
  static constexpr bool smooth = false;
  double epsilon;

  explicit EpsilonInsensitive(double width = 0.1) : epsilon(width) {
    require(epsilon >= 0 && std::isfinite(epsilon),
            "EpsilonInsensitive: epsilon must be finite and not negative, found {}", epsilon);
  }
  static constexpr auto parameters() {
    return std::tuple{Parameter{"epsilon", &EpsilonInsensitive::epsilon,
                                "What the epsilon_insensitive losses forgive [auto; with --alpha NUMBER 0.1]"}};
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
struct SquaredEpsilonInsensitive : RadialLossBase {
  static constexpr const char* name = "squared_epsilon_insensitive";
  static constexpr bool smooth = true;
  double epsilon;

  explicit SquaredEpsilonInsensitive(double width = 0.1) : epsilon(width) {
    require(epsilon >= 0 && std::isfinite(epsilon),
            "SquaredEpsilonInsensitive: epsilon must be finite and not negative, found {}", epsilon);
  }
  static constexpr auto parameters() {
    return std::tuple{Parameter{"epsilon", &SquaredEpsilonInsensitive::epsilon,
                                "What the epsilon_insensitive losses forgive [auto; with --alpha NUMBER 0.1]"}};
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

// The pinball loss, whose minimisers are quantiles: a level for each output, or one for all.
// l_j(f, y) = max(tau_j e, (tau_j - 1) e), e = y - f,   l_j*(u) = u y on -tau_j <= u <= 1 - tau_j
// Differs from [ElAhmad2023]: it takes f - y for e, which estimates the quantile 1 - tau (mathematics.md 2c).
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
  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"levels", &Pinball::levels, "Levels of the pinball loss, with commas; one target: jointly [0.5]"}};
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

// The hinge loss of support vector machines: targets are signs, and a margin of 1 costs nothing.
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
