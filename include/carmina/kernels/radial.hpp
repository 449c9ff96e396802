// kernels/radial.hpp -- what the scalar kernels share. A scalar kernel is a function of inputs divided by its length
// scale.
//
// It supplies: name; length_scale; distance, which of the two below it takes; of_distances, its values from them, in
// place; unit_frequency, the i-th draw from its spectral measure (SPEC 1a); quasi_frequency, the same measure as a
// function of d + 1 uniform numbers, the last for the random scale of a mixture; radial, whether the measure is
// invariant under rotations; and, for curl-free and divergence-free kernels, slopes of g where k = g(|delta|^2 / 2),
// with roughness() saying why there are none.
#pragma once
#include <carmina/kernels/length_scale.hpp>
#include <carmina/random/philox.hpp>
#include <carmina/random/quantiles.hpp>

namespace carmina {

enum class Distance { squared, manhattan };  // |delta|^2, or the sum of |delta_j|

struct Slopes {
  double first, second;  // g'(t), g''(t); where g'' is infinite at 0, 0, since it only stands beside delta deltaᵀ
};

// scale z with z ~ N(0, I)
inline void normal_vector(const Random& random, Index i, Index d, double scale, double* out) {
  for (Index j = 0; j < d; ++j) {
    out[j] = scale * random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j));
  }
}

// The same from uniform numbers, by the inverse of the distribution function.
inline void normal_vector(const double* uniforms, Index d, double scale, double* out) {
  for (Index j = 0; j < d; ++j) out[j] = scale * normal_quantile(uniforms[j]);
}

}  // namespace carmina
