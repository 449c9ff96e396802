// features/map_operations.hpp -- what solvers and models do with a scalar feature map, over blocks of rows.
//
// A map is evaluated in tiles of rows and units that stay in cache: `prepare` some rows, then `tile` ranges of units.
// Tiles and the order of sums are fixed by the sizes alone, so results are bit-equal on any number of threads.
#pragma once
#include "features/fourier_map.hpp"
#include "features/kernel_map.hpp"

#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <concepts>

namespace carmina {

template <class M>
concept ScalarMap = requires(const M& map, const typename M::Scalar* x, typename M::Scalar* y, Index i) {
  { M::parts } -> std::convertible_to<Index>;
  { map.dim_in() } -> std::same_as<Index>;
  { map.units() } -> std::same_as<Index>;
  { map.n_features() } -> std::same_as<Index>;
  { map.prepared_size(i) } -> std::same_as<Index>;
  map.tile(map.prepare(x, i, i, y), i, i, y, i, i);
};

// out (n, n_features) = phi(X)
template <ScalarMap M>
void evaluate(const M& map, ConstView<typename M::Scalar> X, View<typename M::Scalar> out, const Execution& execution);

// out (n, p) = phi(X) theta, theta (n_features, p); phi(X) is never stored.
template <ScalarMap M>
void apply(const M& map, ConstView<typename M::Scalar> X, ConstView<typename M::Scalar> theta,
           View<typename M::Scalar> out, const Execution& execution);

// phi of a few rows x, row stride ldx, in the calling thread: (rows, n_features) at out, row stride ldo.
template <ScalarMap M>
void evaluate_few(const M& map, const typename M::Scalar* x, Index ldx, Index rows, typename M::Scalar* out, Index ldo);

// Features that somebody has made, in the place of a map.
template <Real T>
class GivenFeatures {
 public:
  using Scalar = T;
  static constexpr Index parts = 1;

  explicit GivenFeatures(Index features) : features_(features) {}
  Index dim_in() const { return features_; }
  Index units() const { return features_; }
  Index n_features() const { return features_; }
  Index prepared_size(Index) const { return 0; }
  struct Prepared {
    const T* x;
    Index stride, rows;
  };
  Prepared prepare(const T* X, Index ldx, Index rows, T*) const { return {X, ldx, rows}; }
  void tile(const Prepared& in, Index first, Index count, T* out, Index, Index ldo) const {
    for (Index i = 0; i < in.rows; ++i) std::copy_n(in.x + i * in.stride + first, count, out + i * ldo);
  }

 private:
  Index features_;
};

}  // namespace carmina
