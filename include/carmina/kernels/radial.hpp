// kernels/radial.hpp -- what the stationary scalar kernels share. Such a kernel is a function of x - z divided by its
// length scale; pairwise.hpp has the others.
//
// It supplies: name; length_scale; distance, which of the two below it takes; of_distances, its values from them, in
// place; unit_frequency, the i-th draw from its spectral measure (SPEC 1a); quasi_frequency, the same measure as a
// function of d + 1 uniform numbers, the last for the random scale of a mixture; radial, whether the measure is
// invariant under rotations; and, for curl-free and divergence-free kernels, slopes of g where k = g(|delta|^2 / 2),
// with roughness() saying why there are none.
#pragma once
#include <carmina/kernels/length_scale.hpp>
#include <carmina/random/philox.hpp>
#include <concepts>

namespace carmina {

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
  { k.roughness() } -> std::same_as<const char*>;
};

// scale z with z ~ N(0, I)
inline void normal_vector(const Random& random, Index i, Index d, double scale, double* out) {
  for (Index j = 0; j < d; ++j) {
    out[j] = scale * random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j));
  }
}

// The same from uniform numbers, by the inverse of the distribution function.
void normal_vector(const double* uniforms, Index d, double scale, double* out);

}  // namespace carmina
