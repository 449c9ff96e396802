// features/fourier_map.cpp -- sampling of frequencies; projection, then sine and cosine, over a tile.
#include "features/fourier_map.hpp"
#include "backends/vector_math.hpp"
#include "features/tile_products.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <concepts>
#include <numbers>
#include <vector>

namespace carmina {

Amplitudes Amplitudes::middle(Index first, Index count) const {
  if (empty()) return {};
  return {columns.middleRows(first, count), factors.segment(first, count)};
}

template <Real T>
FourierMap<T>::FourierMap(Matrix<T> frequencies, InputTransform transform, Amplitudes amplitudes, Matrix<T> place)
    : W_(std::move(frequencies)),
      place_(std::move(place)),
      amplitudes_(std::move(amplitudes)),
      transform_(std::move(transform)) {
  require(place_.size() == 0 || (place_.rows() == W_.rows() && place_.cols() == W_.cols()),
          "FourierMap: {} x {} frequencies of factors, expected {} x {}", place_.rows(), place_.cols(), W_.rows(),
          W_.cols());
  require(amplitudes_.empty() || (amplitudes_.factors.size() == W_.rows() && amplitudes_.columns.rows() == W_.rows() &&
                                  amplitudes_.columns.maxCoeff() < W_.cols()),
          "FourierMap: amplitudes do not fit {} frequencies of {} inputs", W_.rows(), W_.cols());
  choose_products();
}

template <Real T>
FourierMap<T> FourierMap<T>::units_from(Index first, Index count) const {
  if (phases_.size() > 0) {
    require(first == 0 && count == units(), "FourierMap: phases are of all units");
    return *this;
  }
  return {frequencies().middleRows(first, count), transform_, amplitudes_.middle(first, count),
          place_.size() > 0 ? Matrix<T>(place_.middleRows(first, count)) : Matrix<T>()};
}

template <Real T>
FourierMap<T>::FourierMap(Matrix<T> frequencies, Vector<T> phases, InputTransform transform)
    : W_(std::move(frequencies)), phases_(std::move(phases)), transform_(std::move(transform)) {
  require(phases_.size() == W_.rows() && W_.rows() % parts == 0,
          "FourierMap: {} frequencies and {} phases, expected an even number and as many", W_.rows(), phases_.size());
  choose_products();
}

template <Real T>
void FourierMap<T>::choose_products() {
  require(W_.rows() > 0 && W_.cols() > 0, "FourierMap: frequencies are empty ({} x {})", W_.rows(), W_.cols());
  require(W_.allFinite(), "the kernel's frequencies are not finite numbers: its length_scale is too small");
  scale_ = static_cast<T>(1 / std::sqrt(static_cast<double>(units())));
  const double largest = static_cast<double>(W_.cwiseAbs().maxCoeff());
  if (std::same_as<T, float> && largest > largest_float_frequency) {
    wide_ = W_.template cast<double>();
  } else if (dim_in() <= backend::RowPanels<T>::longest) {
    using Panels = backend::RowPanels<T>;
    panels_ = phases_.size() > 0 ? Panels::half_turns(W_.data(), phases_.data(), W_.rows(), dim_in())
                                 : Panels::quarter_turns(W_.data(), W_.rows(), dim_in());
  }
}

template <Real T>
FourierMap<T>::FourierMap(const ScalarKernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
                          InputTransform transform, Sampling sampling)
    : FourierMap([&] {
        const Index count = frequency_count(n_components);
        const Random random(seed, Stream::frequencies);
        if (sampling == Sampling::hadamard) {
          return FourierMap(sample_hadamard(kernel, dim_in, count, random), std::move(transform));
        }
        const Index waves = sampling == Sampling::phases ? parts * count : count;
        Matrix<T> W = sample_frequencies(kernel, dim_in, waves, random, sampling).template cast<T>();
        if (sampling != Sampling::phases) return FourierMap(std::move(W), std::move(transform));
        return FourierMap(std::move(W), sample_phases(waves, random).template cast<T>(), std::move(transform));
      }()) {}

template <Real T>
typename FourierMap<T>::Prepared FourierMap<T>::prepare(const T* X, Index ldx, Index rows, T* scratch) const {
  if (transform_.identity()) return {X, ldx, rows, scratch};
  transform_.apply(X, ldx, rows, dim_in(), scratch);
  return {scratch, dim_in(), rows, scratch + rows * dim_in()};
}

template <Real T>
void FourierMap<T>::tile(const Prepared& in, Index first, Index count, T* out, Index part_offset, Index ldo) const {
  if (structure_) return structured_tile(in, first, count, out, part_offset, ldo);
  if (phases_.size() > 0) {
    for (Index k = 0; k < parts; ++k) phased_columns(in, k * units() + first, count, out + k * part_offset, ldo);
    return;
  }
  if (!panels_.empty()) {
    panels_.sincos_of_products(in.x, in.stride, in.rows, first, count, scale_, out, part_offset, ldo,
                               in.past_caches && amplitudes_.empty());
    return multiply_amplitudes(in, first, count, out, part_offset, ldo);
  }
  // X Wᵀ where the cosines will stand, then cosines over it and sines beside.
  products(in, first, count, out, ldo);
  for (Index i = 0; i < in.rows; ++i) {
    T* row = out + i * ldo;
    backend::sincos_scaled(row, scale_, row, row + part_offset, count);
  }
  multiply_amplitudes(in, first, count, out, part_offset, ldo);
}

template <Real T>
void FourierMap<T>::multiply_amplitudes(const Prepared& in, Index first, Index count, T* out, Index part_offset,
                                        Index ldo) const {
  if (amplitudes_.empty()) return;
  for (Index i = 0; i < in.rows; ++i) {
    const T* const x = in.x + i * in.stride;
    T* const row = out + i * ldo;
    for (Index j = 0; j < count; ++j) {
      T factor = static_cast<T>(amplitudes_.factors[first + j]);
      for (const Index column : amplitudes_.columns.row(first + j)) factor *= column < 0 ? T(1) : x[column];
      row[j] *= factor;
      row[j + part_offset] *= factor;
    }
  }
}

// Of frequencies [first, first + count), each with its own phase.
template <Real T>
void FourierMap<T>::phased_columns(const Prepared& in, Index first, Index count, T* out, Index ldo) const {
  if (!panels_.empty()) {
    return panels_.cosines_of_products(in.x, in.stride, in.rows, first, count, scale_, out, ldo, in.past_caches);
  }
  products(in, first, count, out, ldo);
  thread_local std::vector<T> sines;
  sines.resize(static_cast<std::size_t>(count));
  for (Index i = 0; i < in.rows; ++i) {
    T* row = out + i * ldo;
    for (Index j = 0; j < count; ++j) row[j] += phases_[first + j];
    backend::sincos_scaled(row, scale_, row, sines.data(), count);
  }
}

template <Real T>
void FourierMap<T>::products(const Prepared& in, Index first, Index count, T* out, Index ldo) const {
  if (wide_.size() > 0) return wide_products(in, first, count, out, ldo);
  product_with_rows(in.each_alone, in.x, in.stride, in.rows, dim_in(), W_.row(first).data(), dim_in(), count, T(1), out,
                    ldo);
}

template <Real T>
void FourierMap<T>::wide_products(const Prepared& in, Index first, Index count, T* out, Index ldo) const {
  thread_local std::vector<double> scratch;
  const Index d = dim_in();
  scratch.resize(static_cast<std::size_t>(in.rows * (d + count)));
  double *X = scratch.data(), *phases = X + in.rows * d;
  for (Index i = 0; i < in.rows; ++i) {
    for (Index j = 0; j < d; ++j) X[i * d + j] = static_cast<double>(in.x[i * in.stride + j]);
  }
  product_with_rows(in.each_alone, X, d, in.rows, d, wide_.row(first).data(), d, count, 1.0, phases, count);
  constexpr double turn = 2 * std::numbers::pi;
  for (Index i = 0; i < in.rows; ++i) {
    for (Index j = 0; j < count; ++j) {
      const double phase = phases[i * count + j];
      out[i * ldo + j] = static_cast<T>(phase - turn * std::nearbyint(phase / turn));
    }
  }
}

template class FourierMap<float>;
template class FourierMap<double>;

}  // namespace carmina
