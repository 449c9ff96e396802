// features/sample_map.hpp -- the Fourier map of a kernel: frequencies of all its terms, kept as a matrix or as signs.
#pragma once
#include "features/expansion.hpp"

namespace carmina {

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
  return {std::move(W), std::move(transform)};
}

}  // namespace carmina
