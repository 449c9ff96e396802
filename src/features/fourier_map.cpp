// features/fourier_map.cpp -- sampling of frequencies; projection, then sine and cosine, over a tile.
#include <carmina/backends/blas.hpp>
#include <carmina/backends/vector_math.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/fourier_map.hpp>

#include <cmath>

namespace carmina {
namespace {

template <Real T>
Matrix<T> sample_frequencies(const ScalarKernel& kernel, Index d, Index count, std::uint64_t seed) {
  const Random random(seed, Stream::frequencies);
  return std::visit(
      [&](const auto& k) {
        k.length_scale.check_dimension(k.name, d);
        Matrix<T> W(count, d);
        for (Index i = 0; i < count; ++i) {
          for (Index j = 0; j < d; ++j) W(i, j) = static_cast<T>(k.unit_frequency(random, i, j) / k.length_scale[j]);
        }
        return W;
      },
      kernel);
}

}  // namespace

Index frequency_count(Index n_components) {
  require(n_components > 0 && n_components % 2 == 0,
          "n_components must be positive and even, a cosine and a sine for each frequency; found {}", n_components);
  return n_components / 2;
}

template <Real T>
FourierMap<T>::FourierMap(Matrix<T> frequencies, InputTransform transform)
    : W_(std::move(frequencies)), transform_(std::move(transform)) {
  require(W_.rows() > 0 && W_.cols() > 0, "FourierMap: frequencies are empty ({} x {})", W_.rows(), W_.cols());
  scale_ = static_cast<T>(1 / std::sqrt(static_cast<double>(W_.rows())));
}

template <Real T>
FourierMap<T>::FourierMap(const ScalarKernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
                          InputTransform transform)
    : FourierMap(sample_frequencies<T>(kernel, dim_in, frequency_count(n_components), seed), std::move(transform)) {}

template <Real T>
typename FourierMap<T>::Prepared FourierMap<T>::prepare(const T* X, Index ldx, Index rows, T* scratch) const {
  if (transform_.identity()) return {X, ldx, rows};
  transform_.apply(X, ldx, rows, dim_in(), scratch);
  return {scratch, dim_in(), rows};
}

template <Real T>
void FourierMap<T>::tile(const Prepared& in, Index first, Index count, T* out, Index part_offset, Index ldo) const {
  // Phases X Wᵀ (rows, count) where the cosines will stand, then cosines over them and sines beside.
  backend::gemm<T>(backend::Transpose::no, backend::Transpose::yes, in.rows, count, dim_in(), T(1), in.x, in.stride,
                   W_.row(first).data(), dim_in(), T(0), out, ldo);
  for (Index i = 0; i < in.rows; ++i) {
    T* phases = out + i * ldo;
    backend::sincos_scaled(phases, scale_, phases, phases + part_offset, count);
  }
}

template class FourierMap<float>;
template class FourierMap<double>;

}  // namespace carmina
