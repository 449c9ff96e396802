// kernels/gaussian.hpp -- the Gaussian kernel exp(-|x - z|^2 / (2 l^2)) and its spectral measure.
#pragma once
#include <carmina/kernels/radial.hpp>
#include <cmath>

namespace carmina {

struct Gaussian {
  static constexpr const char* name = "gaussian";
  static constexpr Distance distance = Distance::squared;
  LengthScale length_scale;

  explicit Gaussian(LengthScale width = 1.0) : length_scale(std::move(width)) { length_scale.check("Gaussian"); }

  // exp(-gamma |x - z|^2)
  static Gaussian from_gamma(double gamma) {
    require(gamma > 0 && std::isfinite(gamma), "Gaussian: gamma must be positive and finite, found {}", gamma);
    return Gaussian(1 / std::sqrt(2 * gamma));
  }

  template <Real T>
  void of_distances(T* r, Index count) const;

  // g(t) = exp(-t)
  Slopes slopes(double t) const {
    const double g = std::exp(-t);
    return {-g, g};
  }
  const char* roughness() const { return nullptr; }

  // SPEC 1a: N(0, I)
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    normal_vector(random, i, d, 1, out);
  }

  static constexpr bool radial = true;
  void quasi_frequency(const double* u, Index d, double* out) const { normal_vector(u, d, 1, out); }

  bool operator==(const Gaussian&) const = default;
};

}  // namespace carmina
