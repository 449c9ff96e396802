// kernels/stationary.cpp -- what the stationary kernels take from vector instructions and from quantile functions.
#include "backends/vector_math.hpp"
#include "random/quantiles.hpp"

#include <carmina/kernels/stationary.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace carmina {

void normal_vector(const double* uniforms, Index d, double scale, double* out) {
  for (Index j = 0; j < d; ++j) out[j] = scale * normal_quantile(uniforms[j]);
}

template <Real T>
void Gaussian::of_distances(T* r, Index count) const {
  backend::exp_scaled(r, T(-0.5), count);
}
template void Gaussian::of_distances(float*, Index) const;
template void Gaussian::of_distances(double*, Index) const;

template <Real T>
void Laplacian::of_distances(T* r, Index count) const {
  backend::exp_scaled(r, T(-1), count);
}
template void Laplacian::of_distances(float*, Index) const;
template void Laplacian::of_distances(double*, Index) const;

// nu = 1/2, 3/2, 5/2: a polynomial in a = sqrt(2 nu) r times exp(-a), the exponentials of a few values together.
template <Real T>
void Matern::of_distances(T* r, Index count) const {
  if (nu != 0.5 && nu != 1.5 && nu != 2.5) {
    for (Index i = 0; i < count; ++i) r[i] = static_cast<T>(value(std::sqrt(2 * nu * static_cast<double>(r[i]))));
    return;
  }
  constexpr Index together = 256;
  std::array<T, together> a;
  const auto squared = static_cast<T>(2 * nu);
  for (Index first = 0; first < count; first += together, r += together) {
    const Index some = std::min(together, count - first);
    for (Index i = 0; i < some; ++i) r[i] = a[static_cast<std::size_t>(i)] = std::sqrt(squared * r[i]);
    backend::exp_scaled(r, T(-1), some);
    if (nu == 1.5) {
      for (Index i = 0; i < some; ++i) r[i] *= 1 + a[static_cast<std::size_t>(i)];
    } else if (nu == 2.5) {
      for (Index i = 0; i < some; ++i) {
        const T s = a[static_cast<std::size_t>(i)];
        r[i] *= 1 + s + s * s / 3;
      }
    }
  }
}
template void Matern::of_distances(float*, Index) const;
template void Matern::of_distances(double*, Index) const;

void Matern::quasi_frequency(const double* u, Index d, double* out) const {
  normal_vector(u, d, std::sqrt(nu / gamma_quantile(nu, u[d])), out);
}

void RationalQuadratic::quasi_frequency(const double* u, Index d, double* out) const {
  normal_vector(u, d, std::sqrt(gamma_quantile(shape, u[d]) / shape), out);
}

void Cauchy::quasi_frequency(const double* u, Index d, double* out) const {
  normal_vector(u, d, std::sqrt(2 * gamma_quantile(1, u[d])), out);
}

}  // namespace carmina
