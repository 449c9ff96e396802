// features/fourier_map.hpp -- random Fourier features: cosines and sines of projections on frequencies.
#pragma once
#include "backends/vector_math.hpp"
#include "features/hadamard_frequencies.hpp"

#include <carmina/data/input_transform.hpp>
#include <carmina/kernels/scalar_kernel.hpp>
#include <carmina/kernels/spectrum.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace carmina {

// The first `count` frequencies that the stream holds for the kernel: (count, dim_in).
Matrix<double> sample_frequencies(const ScalarKernel& kernel, Index dim_in, Index count, const Random& random,
                                  Sampling sampling = Sampling::iid);
// The first `count` phases of the stream, uniform in [0, 2 pi).
Vector<double> sample_phases(Index count, const Random& random);

// What a unit's cosine and sine are multiplied with: factor_j prod_k x_(columns_jk), a column of -1 standing for 1. Of
// kernels with Linear in them; empty where every unit is its cosine and sine.
struct Amplitudes {
  Matrix<Index> columns;   // (units, most linear factors)
  Vector<double> factors;  // (units)

  bool empty() const { return factors.size() == 0; }
  Amplitudes middle(Index first, Index count) const;
};

// mathematics.md 1c: phi(x) = D^(-1/2) [cos<x, w_1>, ..., cos<x, w_D>, sin<x, w_1>, ..., sin<x, w_D>], so that
// phi(x).phi(z) estimates k(x - z). A value: sampled once, then immutable.
//
// With phases b_1, ..., b_2D there are 2D frequencies, and phi(x) = D^(-1/2) [cos(<x, w_1> + b_1), ..., cos(<x, w_2D> +
// b_2D)]: 2 E[cos(a + b) cos(c + b)] = cos(a - c) for b uniform on a turn. More frequencies for as many columns, but
// each product is less exact.
template <Real T>
class FourierMap {
 public:
  using Scalar = T;
  static constexpr Index parts =
      2;  // a unit (frequency) gives a cosine and a sine; part k's columns start at k units()

  // `place`: where the factors of an operator-valued kernel are of other frequencies than the waves, these (units, d).
  FourierMap(Matrix<T> frequencies, InputTransform transform = {}, Amplitudes amplitudes = {}, Matrix<T> place = {});
  FourierMap(HadamardFrequencies frequencies, InputTransform transform = {});
  FourierMap(Matrix<T> frequencies, Vector<T> phases, InputTransform transform = {});
  // Frequencies of the kernel's spectral measure, a function of (seed, index) alone: a larger map begins with a
  // smaller one's. n_components counts columns: twice the number of frequencies.
  FourierMap(const ScalarKernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
             InputTransform transform = {}, Sampling sampling = Sampling::iid);

  Index dim_in() const { return structure_ ? structure_->frequencies.dim_in : W_.cols(); }
  Index units() const {
    if (structure_) return structure_->frequencies.units();
    return phases_.size() > 0 ? W_.rows() / parts : W_.rows();
  }
  Index n_features() const { return parts * units(); }
  // W (D, d), with phases (2D, d): a copy, since structured frequencies keep none.
  Matrix<T> frequencies() const { return structure_ ? structure_->frequencies.matrix().template cast<T>() : W_; }
  // Null where W is kept.
  const HadamardFrequencies* structured() const { return structure_ ? &structure_->frequencies : nullptr; }
  const Vector<T>& phases() const { return phases_; }  // empty where a unit has a cosine and a sine
  // For an Expansion: a row for each unit. With phases only their number counts: the kernel is separable.
  Matrix<double> unit_frequencies() const {
    return (place_.size() > 0 ? place_ : Matrix<T>(frequencies().topRows(units()))).template cast<double>();
  }
  const Matrix<T>& place() const { return place_; }  // empty: the frequencies themselves
  const Amplitudes& amplitudes() const { return amplitudes_; }
  // The map of some of its units, whose features are larger: by the root of how many times fewer they are.
  FourierMap units_from(Index first, Index count) const;
  const InputTransform& transform() const { return transform_; }

  // The two steps of evaluating a tile of rows (see map_operations.hpp).
  Index prepared_size(Index rows) const {
    return (transform_.identity() ? 0 : rows * dim_in()) +
           (structure_ ? rows * structure_->frequencies.block_size() : 0);
  }
  struct Prepared {
    const T* x;
    Index stride, rows;
    T* phases = nullptr;       // of structured frequencies: (rows, n), those of one block, so that
    mutable Index block = -1;  // tiles smaller than a block transform it once
    bool past_caches = false;  // whether tiles are not read soon
    bool each_alone = false;   // whether a row must not depend on the others, to the bit: products row by row
  };
  Prepared prepare(const T* X, Index ldx, Index rows, T* scratch) const;
  // Columns of units [first, first + count): part k goes to out + k * part_offset, row stride ldo.
  void tile(const Prepared& rows, Index first, Index count, T* out, Index part_offset, Index ldo) const;

 private:
  void choose_products();
  // Products with frequencies [first, first + count) where panels are not for it: (rows, count)
  void products(const Prepared& rows, Index first, Index count, T* out, Index ldo) const;
  void wide_products(const Prepared& rows, Index first, Index count, T* out, Index ldo) const;
  void phased_columns(const Prepared& rows, Index first, Index count, T* out, Index ldo) const;

  // Structured frequencies, and what they are multiplied with, in the precision of the phases.
  struct Structure {
    HadamardFrequencies frequencies;
    Matrix<T> diagonals, lengths;  // (3 blocks, n); n^(-3/2) S as (blocks, n), zero beyond a term's last unit
    Matrix<double> wide_lengths;   // the latter in double, only where float phases would not do
  };
  void structured_tile(const Prepared& rows, Index first, Index count, T* out, Index part_offset, Index ldo) const;
  // Phases of all units of a block for rows [first, first + rows) of the prepared ones: (rows, n)
  void block_phases(const Prepared& in, Index first, Index rows, Index block, T* out, Index ldo) const;

  void multiply_amplitudes(const Prepared& rows, Index first, Index count, T* out, Index part_offset, Index ldo) const;

  Matrix<T> W_, place_;
  Vector<T> phases_;
  Amplitudes amplitudes_;
  Matrix<double> wide_;                         // W in double, only where float phases would not do
  backend::RowPanels<T> panels_;                // W again, only where inputs are few
  std::shared_ptr<const Structure> structure_;  // in the place of W
  InputTransform transform_;
  T scale_;
};

// n_components must be even, positive: shared by everything that takes it from a user.
Index frequency_count(Index n_components);

}  // namespace carmina
