// features/hadamard_frequencies.cpp -- signs and lengths of structured frequencies, and the matrix that they stand for.
#include "features/hadamard_frequencies.hpp"
#include "backends/hadamard.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace carmina {
namespace {

static_assert(smallest_block >= backend::smallest_hadamard);

// The radial measures are a normal vector times a random scale: the i-th draw of the latter.
template <class K>
double random_scale(const K& kernel, const Random& random, Index i) {
  static const double one = 0.5 * std::erfc(-std::sqrt(0.5));  // where the normal quantile is 1
  const double uniforms[] = {one, random.uniform(static_cast<std::uint64_t>(i)) + 0x1p-54};
  double scale;
  kernel.quasi_frequency(uniforms, 1, &scale);
  return scale;
}

template <class K>
HadamardFrequencies sample(const K& kernel, Index d, Index count, const Random& random) {
  require(K::radial, "sampling 'hadamard' needs a kernel of |x - z|; the {} kernel is not", kernel.name);
  const auto n = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max(d, smallest_block))));
  const Index blocks = (count + n - 1) / n;
  const Random directions = random.child(0xffff);
  HadamardFrequencies out{d, count, Matrix<double>::Zero(3 * blocks, n), Vector<double>(count)};
  for (Index k = 0; k < 3 * blocks; ++k) {
    const bool first = k % 3 == 0;
    for (Index j = 0; j < (first ? d : n); ++j) {
      const auto word = directions.bits(static_cast<std::uint64_t>(k), static_cast<std::uint32_t>(j));
      out.diagonals(k, j) = (word >> 63 ? -1.0 : 1.0) / (first ? kernel.length_scale[j] : 1.0);
    }
  }
  // |z|^2 of a normal vector in n dimensions is twice a gamma variable of shape n/2.
  const double half = 0.5 * static_cast<double>(n);
  for (Index i = 0; i < count; ++i) {
    out.lengths[i] =
        random_scale(kernel, random, i) * std::sqrt(2 * directions.gamma(half, static_cast<std::uint64_t>(i)));
  }
  return out;
}

}  // namespace

HadamardFrequencies::Piece HadamardFrequencies::piece(Index first, Index count) const {
  const Index n = block_size(), term = first / per_term, inside = first % per_term, at = inside % n;
  const Index end = std::min(inside - at + n, per_term);  // of the block, within its term
  return {term * ((per_term + n - 1) / n) + inside / n, at, std::min(count, end - inside)};
}

// Row i of H D3 H D2 H D1 is D1 H D2 H D3 H e_i: the same transform with the diagonals in reverse. Its sums are of
// whole numbers, so that nothing but the scaling is rounded.
Matrix<double> HadamardFrequencies::matrix() const {
  const Index n = block_size();
  const double norm = std::pow(static_cast<double>(n), -1.5);
  Matrix<double> W(units(), dim_in), reversed(3, n);
  const Vector<double> ones = Vector<double>::Ones(n);
  Vector<double> unit(n), row(n);
  for (Index first = 0; first < units();) {
    const Piece part = piece(first, units() - first);
    const auto D = diagonals.middleRows(3 * part.block, 3);
    reversed << Matrix<double>::Ones(1, n), D.row(2), D.row(1);
    for (Index i = 0; i < part.count; ++i) {
      unit.setZero();
      unit[part.at + i] = 1;
      backend::hadamard_products(unit.data(), n, 1, n, reversed.data(), ones.data(), n, row.data(), n);
      W.row(first + i) = norm * lengths[first + i] * row.head(dim_in).transpose().cwiseProduct(D.row(0).head(dim_in));
    }
    first += part.count;
  }
  return W;
}

void HadamardFrequencies::check() const {
  const Index n = block_size();
  require(n >= smallest_block && std::has_single_bit(static_cast<std::uint64_t>(n)) && dim_in > 0 && dim_in <= n,
          "structured frequencies: blocks of {} for inputs of {} columns", n, dim_in);
  require(per_term > 0 && units() > 0 && units() % per_term == 0, "structured frequencies: {} lengths for terms of {}",
          units(), per_term);
  const Index blocks = units() / per_term * ((per_term + n - 1) / n);
  require(diagonals.rows() == 3 * blocks, "structured frequencies: {} diagonals, expected {}", diagonals.rows(),
          3 * blocks);
}

HadamardFrequencies sample_hadamard(const ScalarKernel& kernel, Index d, Index count, const Random& random) {
  require_spectral_measure(kernel);
  check_dimension(kernel, d);
  require(!std::holds_alternative<SpectralMixture>(kernel),
          "sampling 'hadamard' needs a kernel of |x - z|; the {} kernel is not", SpectralMixture::name);
  return visit_stationary([&](const auto& k) { return sample(k, d, count, random); }, kernel);
}

}  // namespace carmina
