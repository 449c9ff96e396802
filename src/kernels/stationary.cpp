// kernels/stationary.cpp -- what the stationary kernels take from vector instructions and from quantile functions.
#include "backends/vector_math.hpp"
#include "random/quantiles.hpp"

#include <carmina/kernels/stationary.hpp>

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
