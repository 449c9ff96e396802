// features/map_operations.cpp -- features of rows and products with them, tile by tile, once for every map.
#include "features/map_operations.hpp"
#include "features/scalar_maps.hpp"
#include "features/tile_products.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <vector>

namespace carmina {
namespace {

template <class M>
void check_inputs(const M& map, Index columns) {
  require(columns == map.dim_in(), "the map takes inputs of {} columns, found {}", map.dim_in(), columns);
}

}  // namespace

template <ScalarMap M>
void evaluate(const M& map, ConstView<typename M::Scalar> X, View<typename M::Scalar> out, const Execution& execution) {
  using T = typename M::Scalar;
  check_inputs(map, X.cols());
  const Index n = X.rows(), units = map.units();
  // What nobody reads soon is written by non-temporal stores, along whole rows.
  const bool past = out.size() * static_cast<Index>(sizeof(T)) > cached_bytes;
  const int threads = execution.thread_count();
  Scratch<T> prepared(threads, map.prepared_size(tile_rows));
  parallel_for((n + tile_rows - 1) / tile_rows, threads, [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * tile_rows, rows = std::min(tile_rows, n - first);
    auto in = map.prepare(X.data() + first * X.outerStride(), X.outerStride(), rows, prepared[worker]);
    Index step = units_per_tile<M>();
    if constexpr (requires { in.past_caches; }) {
      in.past_caches = past;
      if (past) step = units;
    }
    for (Index u = 0; u < units; u += step) {
      map.tile(in, u, std::min(step, units - u), out.data() + first * out.outerStride() + u, units, out.outerStride());
    }
  });
}

template <ScalarMap M>
void apply(const M& map, ConstView<typename M::Scalar> X, ConstView<typename M::Scalar> theta,
           View<typename M::Scalar> out, const Execution& execution) {
  using T = typename M::Scalar;
  check_inputs(map, X.cols());
  require(theta.rows() == map.n_features(), "apply: theta has {} rows, the map has {} features", theta.rows(),
          map.n_features());
  // Fewer rows and longer sums than in a fit. Every number is a sum along its own row in an order that its neighbours
  // do not change: a row has the same result alone and in any batch.
  constexpr Index together = 64;
  const Index n = X.rows(), p = theta.cols(), units = map.units(), step = tile_rows / together * units_per_tile<M>();
  const int threads = execution.thread_count();
  const bool one = p == 1 && theta.outerStride() == 1;                        // its own transpose
  const Matrix<T> turned = one ? Matrix<T>() : Matrix<T>(theta.transpose());  // (p, n_features)
  const T* const weights = one ? theta.data() : turned.data();
  const Index most = std::min(n, together);
  Scratch<T> prepared(threads, map.prepared_size(most)), features(threads, most * M::parts * std::min(step, units));
  parallel_for((n + together - 1) / together, threads, [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * together, rows = std::min(together, n - first);
    auto in = map.prepare(X.data() + first * X.outerStride(), X.outerStride(), rows, prepared[worker]);
    if constexpr (requires { in.each_alone; }) in.each_alone = true;
    out.middleRows(first, rows).setZero();
    T* const phi = features[worker];
    T* const result = out.data() + first * out.outerStride();
    for (Index u = 0; u < units; u += step) {
      const Index count = std::min(step, units - u);
      map.tile(in, u, count, phi, count, M::parts * count);
      for (Index k = 0; k < M::parts; ++k) {
        backend::add_product_few(phi + k * count, M::parts * count, rows, count, weights + k * units + u,
                                 map.n_features(), p, result, out.outerStride());
      }
    }
  });
}

template <ScalarMap M>
void evaluate_few(const M& map, const typename M::Scalar* x, Index ldx, Index rows, typename M::Scalar* out,
                  Index ldo) {
  using T = typename M::Scalar;
  thread_local std::vector<T> scratch;
  scratch.resize(static_cast<std::size_t>(map.prepared_size(rows) + 1));
  const auto in = map.prepare(x, ldx, rows, scratch.data());
  const Index units = map.units();
  const Index step = few_bytes / (std::min<Index>(rows, 128) * static_cast<Index>(sizeof(T)));
  for (Index u = 0; u < units; u += step) map.tile(in, u, std::min(step, units - u), out + u, units, ldo);
}

#define CARMINA_INSTANTIATE_IN(M)                                                                               \
  template void evaluate(const M&, ConstView<M::Scalar>, View<M::Scalar>, const Execution&);                    \
  template void apply(const M&, ConstView<M::Scalar>, ConstView<M::Scalar>, View<M::Scalar>, const Execution&); \
  template void evaluate_few(const M&, const M::Scalar*, Index, Index, M::Scalar*, Index);
#define CARMINA_INSTANTIATE(Map) CARMINA_INSTANTIATE_IN(Map<float>) CARMINA_INSTANTIATE_IN(Map<double>)
CARMINA_SCALAR_MAPS(CARMINA_INSTANTIATE, )
CARMINA_INSTANTIATE(GivenFeatures)
#undef CARMINA_INSTANTIATE
#undef CARMINA_INSTANTIATE_IN

}  // namespace carmina
