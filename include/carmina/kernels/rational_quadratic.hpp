// kernels/rational_quadratic.hpp -- scale mixtures of Gaussians: (1 + r^2 / (2 a l^2))^-a, and Cauchy's 1 / (1 + r^2 /
// l^2).
#pragma once
#include <carmina/kernels/radial.hpp>
#include <cmath>

namespace carmina {

struct RationalQuadratic {
  static constexpr const char* name = "rational_quadratic";
  static constexpr Distance distance = Distance::squared;
  LengthScale length_scale;
  double shape;

  explicit RationalQuadratic(LengthScale width = 1.0, double mixture_shape = 1.0)
      : length_scale(std::move(width)), shape(mixture_shape) {
    length_scale.check("RationalQuadratic");
    require(shape > 0 && std::isfinite(shape), "RationalQuadratic: shape must be positive and finite, found {}", shape);
  }

  template <Real T>
  void of_distances(T* r, Index count) const {
    for (Index i = 0; i < count; ++i) {
      r[i] = static_cast<T>(std::exp(-shape * std::log1p(static_cast<double>(r[i]) / (2 * shape))));
    }
  }

  // g(t) = (1 + t/a)^-a
  Slopes slopes(double t) const {
    const double base = 1 + t / shape, first = -std::pow(base, -shape - 1);
    return {first, -first * (shape + 1) / (shape * base)};
  }
  const char* roughness() const { return nullptr; }

  // SPEC 1a: sqrt(tau) z, tau ~ Gamma(a, rate a)
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    const double tau = random.gamma(shape, static_cast<std::uint64_t>(i)) / shape;
    normal_vector(random, i, d, std::sqrt(tau), out);
  }

  static constexpr bool radial = true;
  void quasi_frequency(const double* u, Index d, double* out) const;

  bool operator==(const RationalQuadratic&) const = default;
};

struct Cauchy {
  static constexpr const char* name = "cauchy";
  static constexpr Distance distance = Distance::squared;
  LengthScale length_scale;

  explicit Cauchy(LengthScale width = 1.0) : length_scale(std::move(width)) { length_scale.check("Cauchy"); }

  template <Real T>
  void of_distances(T* r, Index count) const {
    for (Index i = 0; i < count; ++i) r[i] = 1 / (1 + r[i]);
  }

  // g(t) = 1 / (1 + 2t)
  Slopes slopes(double t) const {
    const double g = 1 / (1 + 2 * t);
    return {-2 * g * g, 8 * g * g * g};
  }
  const char* roughness() const { return nullptr; }

  // SPEC 1a: sqrt(tau) z, tau ~ Exp(rate 1/2)
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    const double tau = 2 * random.gamma(1, static_cast<std::uint64_t>(i));
    normal_vector(random, i, d, std::sqrt(tau), out);
  }

  static constexpr bool radial = true;
  void quasi_frequency(const double* u, Index d, double* out) const;

  bool operator==(const Cauchy&) const = default;
};

}  // namespace carmina
