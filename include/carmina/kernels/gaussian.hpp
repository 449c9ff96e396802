// kernels/gaussian.hpp -- the Gaussian kernel exp(-|x - z|^2 / (2 l^2)) and its spectral measure.
#pragma once
#include <carmina/backends/vector_math.hpp>
#include <carmina/kernels/length_scale.hpp>
#include <carmina/random/philox.hpp>
#include <cmath>

namespace carmina {

struct Gaussian {
  static constexpr const char* name = "gaussian";
  LengthScale length_scale;

  explicit Gaussian(LengthScale width = 1.0) : length_scale(std::move(width)) { length_scale.check("Gaussian"); }

  // exp(-gamma |x - z|^2)
  static Gaussian from_gamma(double gamma) {
    require(gamma > 0 && std::isfinite(gamma), "Gaussian: gamma must be positive and finite, found {}", gamma);
    return Gaussian(1 / std::sqrt(2 * gamma));
  }

  // k = exp(-r / 2) of squared distances r between inputs divided by the length scale, in place.
  template <Real T>
  static void of_squared_distances(T* r, Index count) {
    backend::exp_scaled(r, T(-0.5), count);
  }

  // SPEC 1a: frequency i, coordinate j of inputs divided by the length scale is N(0, 1).
  static double unit_frequency(const Random& random, Index i, Index j) {
    return random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j));
  }

  bool operator==(const Gaussian&) const = default;
};

}  // namespace carmina
