// kernels/laplacian.hpp -- the Laplacian kernel exp(-sum_j |x_j - z_j| / l_j): rough, with heavy-tailed frequencies.
#pragma once
#include <carmina/kernels/radial.hpp>
#include <cmath>
#include <numbers>

namespace carmina {

struct Laplacian {
  static constexpr const char* name = "laplacian";
  static constexpr Distance distance = Distance::manhattan;
  LengthScale length_scale;

  explicit Laplacian(LengthScale width = 1.0) : length_scale(std::move(width)) { length_scale.check("Laplacian"); }

  template <Real T>
  void of_distances(T* r, Index count) const;

  Slopes slopes(double) const { fail("{}", roughness()); }
  const char* roughness() const { return "the Laplacian kernel has no second derivative at 0"; }

  // SPEC 1a: each coordinate is Cauchy(0, 1).
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    for (Index j = 0; j < d; ++j) {
      out[j] = cauchy_quantile(random.uniform(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j)) + 0x1p-54);
    }
  }
  static constexpr bool radial = false;
  void quasi_frequency(const double* u, Index d, double* out) const {
    for (Index j = 0; j < d; ++j) out[j] = cauchy_quantile(u[j]);
  }

  bool operator==(const Laplacian&) const = default;

 private:
  static double cauchy_quantile(double u) { return std::tan(std::numbers::pi * (u - 0.5)); }
};

}  // namespace carmina
