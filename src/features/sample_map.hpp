// features/sample_map.hpp -- the Fourier map of a kernel: frequencies of all its terms, kept as a matrix or as signs.
#pragma once
#include "features/expansion.hpp"

namespace carmina {

// From frequencies that have been drawn: what else the kernel's map has is a function of the kernel.
template <Real T>
FourierMap<T> map_of_frequencies(const Kernel& kernel, Matrix<T> W, Matrix<T> place, InputTransform transform = {}) {
  Amplitudes amplitudes = term_amplitudes(kernel, W.cols(), W.rows());
  return {std::move(W), std::move(transform), std::move(amplitudes), std::move(place)};
}

template <Real T>
FourierMap<T> sample_term_map(const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
                              Sampling sampling, InputTransform transform = {}) {
  if (sampling == Sampling::hadamard) {
    return {sample_term_hadamard(kernel, dim_in, n_components, seed), std::move(transform)};
  }
  Matrix<T> W = sample_term_frequencies(kernel, dim_in, n_components, seed, sampling).template cast<T>();
  if (sampling == Sampling::phases) {
    return {std::move(W), sample_term_phases(n_components, seed).template cast<T>(), std::move(transform)};
  }
  Matrix<T> place = sample_place_frequencies(kernel, dim_in, n_components, seed, sampling).template cast<T>();
  return map_of_frequencies<T>(kernel, std::move(W), std::move(place), std::move(transform));
}

}  // namespace carmina
