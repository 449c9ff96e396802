// kernels/stationary.hpp -- the stationary scalar kernels, functions of x - z divided by a length scale, and what they
// share.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/core/parameter.hpp>
#include <carmina/random/philox.hpp>
#include <cmath>
#include <concepts>
#include <numbers>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace carmina {

// The width of a kernel: one number, or one per input dimension.
class LengthScale {
 public:
  LengthScale(double value) : values_{value} {}                            // NOLINT: a number is a width
  LengthScale(std::vector<double> values) : values_(std::move(values)) {}  // NOLINT: so is a list of numbers

  bool isotropic() const { return values_.size() == 1; }
  const std::vector<double>& values() const { return values_; }
  double operator[](Index dimension) const {
    return isotropic() ? values_[0] : values_[static_cast<std::size_t>(dimension)];
  }
  bool operator==(const LengthScale&) const = default;

  void check(std::string_view owner) const {
    require(!values_.empty(), "{}: length_scale is empty", owner);
    for (const double value : values_) {
      require(value > 0 && std::isfinite(value), "{}: length_scale must be positive and finite, found {}", owner,
              value);
    }
  }
  void check_dimension(std::string_view owner, Index d) const {
    require(isotropic() || static_cast<Index>(values_.size()) == d,
            "{}: {} length scales given for inputs of {} columns", owner, values_.size(), d);
  }

 private:
  std::vector<double> values_;
};

// What the stationary scalar kernels share. Such a kernel is a function of x - z divided by its length scale;
// pairwise.hpp has the others.
//
// It supplies: name; length_scale; its parameters, if any, which its constructor takes after that (core/parameter.hpp);
// distance, which of the two below it takes; of_distances, its values from them, in place; unit_frequency, the i-th
// draw from its spectral measure (mathematics.md 1a); quasi_frequency, the same measure as a function of d + 1 uniform
// numbers, the last for the random scale of a mixture; radial, whether the measure is invariant under rotations; and,
// for curl-free and divergence-free kernels, slopes of g where k = g(|delta|^2 / 2), with why_not_differentiable()
// saying why there are none.

enum class Distance { squared, manhattan };  // |delta|^2, or the sum of |delta_j|

struct Slopes {
  double first, second;  // g'(t), g''(t); where g'' is infinite at 0, 0, since it only stands beside delta deltaᵀ
};

// What distances, frequencies and derivatives can be asked of.
template <class K>
concept Stationary = requires(const K& k, const Random& random, double* out, Index i) {
  { K::distance } -> std::convertible_to<Distance>;
  { K::radial } -> std::convertible_to<bool>;
  { k.length_scale } -> std::convertible_to<LengthScale>;
  k.of_distances(out, i);
  k.unit_frequency(random, i, i, out);
  k.quasi_frequency(out, i, out);
  { k.slopes(1.0) } -> std::same_as<Slopes>;
  { k.why_not_differentiable() } -> std::same_as<const char*>;
};

// scale z with z ~ N(0, I)
inline void normal_vector(const Random& random, Index i, Index d, double scale, double* out) {
  for (Index j = 0; j < d; ++j) {
    out[j] = scale * random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j));
  }
}

// The same from uniform numbers, by the inverse of the distribution function.
void normal_vector(const double* uniforms, Index d, double scale, double* out);

// The Gaussian kernel exp(-|x - z|^2 / (2 l^2)) and its spectral measure.
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
  const char* why_not_differentiable() const { return nullptr; }

  // mathematics.md 1a: N(0, I)
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    normal_vector(random, i, d, 1, out);
  }

  static constexpr bool radial = true;
  void quasi_frequency(const double* u, Index d, double* out) const { normal_vector(u, d, 1, out); }

  bool operator==(const Gaussian&) const = default;
};

// The Laplacian kernel exp(-sum_j |x_j - z_j| / l_j): rough, with heavy-tailed frequencies.
struct Laplacian {
  static constexpr const char* name = "laplacian";
  static constexpr Distance distance = Distance::manhattan;
  LengthScale length_scale;

  explicit Laplacian(LengthScale width = 1.0) : length_scale(std::move(width)) { length_scale.check("Laplacian"); }

  template <Real T>
  void of_distances(T* r, Index count) const;

  Slopes slopes(double) const { fail("{}", why_not_differentiable()); }
  const char* why_not_differentiable() const { return "the Laplacian kernel has no second derivative at 0"; }

  // mathematics.md 1a: each coordinate is Cauchy(0, 1).
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

// The Matérn kernel of any smoothness nu; its frequencies are Student's t with 2 nu degrees of freedom.
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
  static constexpr auto parameters() {
    return std::tuple{Parameter{"nu", &Matern::nu, "Smoothness of the matern kernel [1.5]"}};
  }

  template <Real T>
  void of_distances(T* r, Index count) const;

  // With t = r^2/2, a^2 = 4 nu t and (a^nu K_nu)' = -a^nu K_(nu-1):
  // g' = -2 nu c a^(nu-1) K_(nu-1)(a), g'' = (2 nu)^2 c a^(nu-2) K_(nu-2)(a), c = 2^(1-nu) / Gamma(nu).
  Slopes slopes(double t) const;
  const char* why_not_differentiable() const {
    return nu > 1 ? nullptr : "the Matern kernel has no second derivative at 0 for nu <= 1";
  }

  // mathematics.md 1a: z sqrt(2 nu / u), u ~ chi^2 with 2 nu degrees of freedom = 2 Gamma(nu).
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    normal_vector(random, i, d, std::sqrt(nu / random.gamma(nu, static_cast<std::uint64_t>(i))), out);
  }

  static constexpr bool radial = true;
  void quasi_frequency(const double* u, Index d, double* out) const;

  bool operator==(const Matern&) const = default;

 private:
  double value(double a) const;
};

// Scale mixtures of Gaussians: (1 + r^2 / (2 a l^2))^-a, and Cauchy's 1 / (1 + r^2 / l^2).
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
  static constexpr auto parameters() {
    return std::tuple{Parameter{"shape", &RationalQuadratic::shape, "Shape of the rational_quadratic kernel [1]"}};
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
  const char* why_not_differentiable() const { return nullptr; }

  // mathematics.md 1a: sqrt(tau) z, tau ~ Gamma(a, rate a)
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
  const char* why_not_differentiable() const { return nullptr; }

  // mathematics.md 1a: sqrt(tau) z, tau ~ Exp(rate 1/2)
  void unit_frequency(const Random& random, Index i, Index d, double* out) const {
    const double tau = 2 * random.gamma(1, static_cast<std::uint64_t>(i));
    normal_vector(random, i, d, std::sqrt(tau), out);
  }

  static constexpr bool radial = true;
  void quasi_frequency(const double* u, Index d, double* out) const;

  bool operator==(const Cauchy&) const = default;
};

}  // namespace carmina
