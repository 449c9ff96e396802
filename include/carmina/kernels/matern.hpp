// kernels/matern.hpp -- the Matérn kernel of any smoothness nu; its frequencies are Student's t with 2 nu degrees of
// freedom.
#pragma once
#include <carmina/kernels/radial.hpp>
#include <cmath>

namespace carmina {

// k = 2^(1-nu) / Gamma(nu) a^nu K_nu(a), a = sqrt(2 nu) r / l; nu = 1/2 is exp(-r / l).
struct Matern {
  static constexpr const char* name = "matern";
  static constexpr Distance distance = Distance::squared;
  LengthScale length_scale;
  double nu;

  explicit Matern(LengthScale width = 1.0, double smoothness = 1.5) : length_scale(std::move(width)), nu(smoothness) {
    length_scale.check("Matern");
    require(nu > 0 && nu <= 100, "Matern: nu must be positive and at most 100 (Gaussian serves beyond), found {}", nu);
  }

  template <Real T>
  void of_distances(T* r, Index count) const {
    for (Index i = 0; i < count; ++i) r[i] = static_cast<T>(value(std::sqrt(2 * nu * static_cast<double>(r[i]))));
  }

  // With t = r^2/2, a^2 = 4 nu t and (a^nu K_nu)' = -a^nu K_(nu-1):
  // g' = -2 nu c a^(nu-1) K_(nu-1)(a), g'' = (2 nu)^2 c a^(nu-2) K_(nu-2)(a), c = 2^(1-nu) / Gamma(nu).
  Slopes slopes(double t) const;
  const char* roughness() const {
    return nu > 1 ? nullptr : "the Matern kernel has no second derivative at 0 for nu <= 1";
  }

  // SPEC 1a: z sqrt(2 nu / u), u ~ chi^2 with 2 nu degrees of freedom = 2 Gamma(nu).
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    normal_vector(random, i, d, std::sqrt(nu / random.gamma(nu, static_cast<std::uint64_t>(i))), out);
  }

  static constexpr bool radial = true;
  void quasi_frequency(const double* u, Index d, double* out) const;

  bool operator==(const Matern&) const = default;

 private:
  double value(double a) const;
};

}  // namespace carmina
