// features/map_operations.hpp -- what solvers and models do with a scalar feature map, over blocks of rows.
//
// A map is evaluated in tiles of rows and units that stay in cache: `prepare` some rows, then `tile` ranges of units.
// Tiles and the order of sums are fixed by the sizes alone, so results are bit-equal on any number of threads.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/features/fourier_map.hpp>
#include <carmina/features/kernel_map.hpp>
#include <concepts>
#include <functional>

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

// out (n_features, p) += phi(X)ᵀ R, R (n, p); sums over rows are in double.
template <ScalarMap M>
void adjoint(const M& map, ConstView<typename M::Scalar> X, ConstView<typename M::Scalar> R, Matrix<double>& out,
             const Execution& execution);

// out (n_features, p) += phi(X)ᵀ diag(w) phi(X) theta in one pass over the rows; w null: all one.
template <ScalarMap M>
void normal_operator(const M& map, ConstView<typename M::Scalar> X, const typename M::Scalar* w,
                     ConstView<typename M::Scalar> theta, Matrix<double>& out, const Execution& execution);

}  // namespace carmina
