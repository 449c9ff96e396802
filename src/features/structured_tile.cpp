// features/structured_tile.cpp -- a Fourier map whose frequencies are products of Hadamard and sign matrices: phases by
// fast transforms, a block of frequencies at a time.
#include "backends/hadamard.hpp"
#include "backends/vector_math.hpp"
#include "features/fourier_map.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numbers>
#include <vector>

namespace carmina {
namespace {

// The entries of a frequency are about normal, of variance length^2 / n over the square of the width: four deviations.
bool needs_double(const HadamardFrequencies& w) {
  const double entry = 4 * w.lengths.maxCoeff() / std::sqrt(static_cast<double>(w.block_size()));
  double inverse_width = 0;
  for (Index k = 0; k < w.diagonals.rows(); k += 3) {
    inverse_width = std::max(inverse_width, w.diagonals.row(k).cwiseAbs().maxCoeff());
  }
  return entry * inverse_width > largest_float_frequency;
}

// n^(-3/2) S, each term's last block filled up with zeros.
Matrix<double> whole_blocks(const HadamardFrequencies& w) {
  const Index n = w.block_size();
  Matrix<double> out = Matrix<double>::Zero(w.diagonals.rows() / 3, n);
  for (Index first = 0; first < w.units();) {
    const auto part = w.piece(first, w.units() - first);
    out.row(part.block).segment(part.at, part.count) =
        std::pow(static_cast<double>(n), -1.5) * w.lengths.segment(first, part.count).transpose();
    first += part.count;
  }
  return out;
}

}  // namespace

template <Real T>
FourierMap<T>::FourierMap(HadamardFrequencies frequencies, InputTransform transform)
    : transform_(std::move(transform)) {
  frequencies.check();
  scale_ = static_cast<T>(1 / std::sqrt(static_cast<double>(frequencies.units())));
  auto structure = std::make_shared<Structure>();
  structure->diagonals = frequencies.diagonals.template cast<T>();
  const Matrix<double> lengths = whole_blocks(frequencies);
  structure->lengths = lengths.template cast<T>();
  if (std::same_as<T, float> && needs_double(frequencies)) structure->wide_lengths = lengths;
  structure->frequencies = std::move(frequencies);
  structure_ = std::move(structure);
}

template <Real T>
void FourierMap<T>::block_phases(const Prepared& in, Index first, Index rows, Index block, T* out, Index ldo) const {
  const Structure& s = *structure_;
  const Index d = dim_in(), n = s.frequencies.block_size();
  const T* X = in.x + first * in.stride;
  if (s.wide_lengths.size() == 0) {
    backend::hadamard_products(X, in.stride, rows, d, s.diagonals.row(3 * block).data(), s.lengths.row(block).data(), n,
                               out, ldo);
    return;
  }
  std::vector<double> x(static_cast<std::size_t>(d)), phases(static_cast<std::size_t>(n));
  constexpr double turn = 2 * std::numbers::pi;
  for (Index i = 0; i < rows; ++i) {
    std::copy_n(X + i * in.stride, d, x.data());
    backend::hadamard_products(x.data(), d, 1, d, s.frequencies.diagonals.row(3 * block).data(),
                               s.wide_lengths.row(block).data(), n, phases.data(), n);
    for (Index j = 0; j < n; ++j) {
      const double phase = phases[static_cast<std::size_t>(j)];
      out[i * ldo + j] = static_cast<T>(phase - turn * std::nearbyint(phase / turn));
    }
  }
}

template <Real T>
void FourierMap<T>::structured_tile(const Prepared& in, Index first, Index count, T* out, Index part_offset,
                                    Index ldo) const {
  constexpr Index few_rows = 8;  // whose phases are in cache when their sines are taken
  const HadamardFrequencies& w = structure_->frequencies;
  const Index n = w.block_size();
  for (Index done = 0; done < count;) {
    const auto part = w.piece(first + done, count - done);
    const bool whole = part.count == n;
    if (!whole && in.block != part.block) {
      block_phases(in, 0, in.rows, part.block, in.phases, n);
      in.block = part.block;
    }
    for (Index i = 0; i < in.rows; ++i) {
      T* const cosines = out + i * ldo + done;
      if (whole && i % few_rows == 0) {
        block_phases(in, i, std::min(few_rows, in.rows - i), part.block, cosines, ldo);
      }
      const T* phases = whole ? cosines : in.phases + i * n + part.at;
      backend::sincos_scaled(phases, scale_, cosines, cosines + part_offset, part.count);
    }
    done += part.count;
  }
}

template FourierMap<float>::FourierMap(HadamardFrequencies, InputTransform);
template void FourierMap<float>::block_phases(const Prepared&, Index, Index, Index, float*, Index) const;
template void FourierMap<float>::structured_tile(const Prepared&, Index, Index, float*, Index, Index) const;
template FourierMap<double>::FourierMap(HadamardFrequencies, InputTransform);
template void FourierMap<double>::block_phases(const Prepared&, Index, Index, Index, double*, Index) const;
template void FourierMap<double>::structured_tile(const Prepared&, Index, Index, double*, Index, Index) const;

}  // namespace carmina
