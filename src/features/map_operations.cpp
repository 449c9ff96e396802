// features/map_operations.cpp -- the loops over tiles, once for every map.
#include <carmina/backends/blas.hpp>
#include <carmina/backends/vector_math.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/map_operations.hpp>
#include <carmina/features/scalar_maps.hpp>

#include <algorithm>
#include <vector>

namespace carmina {
namespace {

using backend::Transpose;

constexpr Index tile_rows = 256;          // rows evaluated together
constexpr Index tile_bytes = 1 << 19;     // of features: half of a usual second-level cache
constexpr Index sum_rows = 2048;          // rows summed in T before they join the sum in double
constexpr Index wave = 16;                // such sums under way at once, whatever the number of threads
constexpr Index cached_bytes = 16 << 20;  // more than that is not in the caches when it is read
constexpr Index few_columns = 16;         // up to here products are faster without BLAS

template <class M>
Index units_per_tile() {
  return tile_bytes / (tile_rows * M::parts * static_cast<Index>(sizeof(typename M::Scalar)));
}

// Scratch of each worker, made on its first task.
template <class T>
class Scratch {
 public:
  Scratch(int workers, Index size)
      : buffers_(static_cast<std::size_t>(workers)), size_(static_cast<std::size_t>(size)) {}
  T* operator[](int worker) {
    auto& buffer = buffers_[static_cast<std::size_t>(worker)];
    if (buffer.size() < size_) buffer.resize(size_);
    return buffer.data();
  }

 private:
  std::vector<std::vector<T>> buffers_;
  std::size_t size_;
};

// out (rows, p) += phi B for phi (rows, columns) and B given as Bᵀ (p, columns).
template <class T>
void add_product(const T* phi, Index ld, Index rows, Index columns, const T* Bt, Index ldb, Index p, T* out,
                 Index ldo) {
  // Each entry is a sum along a row: a short row is over before its sum is worth it.
  if (p <= few_columns && columns >= 1024) {
    backend::add_product_few(phi, ld, rows, columns, Bt, ldb, p, out, ldo);
  } else {
    backend::gemm<T>(Transpose::no, Transpose::yes, rows, p, columns, T(1), phi, ld, Bt, ldb, T(1), out, ldo);
  }
}
// out (p, columns) += Rᵀ phi
template <class T>
void add_transposed(const T* phi, Index ld, Index rows, Index columns, const T* R, Index ldr, Index p, T* out,
                    Index ldo) {
  if (p <= few_columns) {
    backend::add_transposed_few(phi, ld, rows, columns, R, ldr, p, out, ldo);
  } else {
    backend::gemm<T>(Transpose::yes, Transpose::no, p, columns, rows, T(1), R, ldr, phi, ld, T(1), out, ldo);
  }
}

template <class M>
void check_inputs(const M& map, Index columns) {
  require(columns == map.dim_in(), "the map takes inputs of {} columns, found {}", map.dim_in(), columns);
}

// Sums (p, n_features) of one stretch of rows: residual(phi, first, rows) gives R (rows, p) for a tile phi.
template <class M>
using Residual = std::function<const typename M::Scalar*(const typename M::Scalar* phi, Index first, Index rows,
                                                         typename M::Scalar* scratch, Index& stride)>;

template <ScalarMap M>
void accumulate(const M& map, ConstView<typename M::Scalar> X, Index p, const Residual<M>& residual,
                Matrix<double>& out, const Execution& execution) {
  using T = typename M::Scalar;
  check_inputs(map, X.cols());
  const Index n = X.rows(), m = map.n_features();
  require(out.rows() == m && out.cols() == p, "adjoint: the result is {} x {}, expected {} x {}", out.rows(),
          out.cols(), m, p);
  // All features of a tile's rows at once, so that apply and adjoint share them; fewer rows for a wider map.
  const Index rows_at_once = std::clamp<Index>(tile_bytes / (m * static_cast<Index>(sizeof(T))), 16, tile_rows);
  const Index stretches = (n + sum_rows - 1) / sum_rows;
  const int threads = execution.thread_count();
  Scratch<T> prepared(threads, map.prepared_size(rows_at_once)), features(threads, rows_at_once * m),
      residuals(threads, rows_at_once * p);
  std::vector<Matrix<T>> partial(static_cast<std::size_t>(std::min(wave, stretches)));

  for (Index begin = 0; begin < stretches; begin += wave) {
    const Index count = std::min(wave, stretches - begin);
    parallel_for(count, threads, [&](Index task, int worker) {
      Matrix<T>& sum = partial[static_cast<std::size_t>(task)];
      sum.setZero(p, m);
      const Index first = (begin + task) * sum_rows, last = std::min(n, first + sum_rows);
      for (Index i = first; i < last; i += rows_at_once) {
        execution.poll(worker);
        const Index rows = std::min(rows_at_once, last - i);
        T* phi = features[worker];
        const auto in = map.prepare(X.data() + i * X.outerStride(), X.outerStride(), rows, prepared[worker]);
        map.tile(in, 0, map.units(), phi, map.units(), m);
        Index stride = p;
        const T* R = residual(phi, i, rows, residuals[worker], stride);
        add_transposed(phi, m, rows, m, R, stride, p, sum.data(), m);
      }
    });
    // Added in the order of the rows.
    constexpr Index strip = 256;
    parallel_for((m + strip - 1) / strip, threads, [&](Index task, int) {
      const Index first = task * strip, rows = std::min(strip, m - first);
      for (Index k = 0; k < count; ++k) {
        const auto& sum = partial[static_cast<std::size_t>(k)];
        out.middleRows(first, rows) += sum.middleCols(first, rows).transpose().template cast<double>();
      }
    });
  }
}

}  // namespace

template <ScalarMap M>
void evaluate(const M& map, ConstView<typename M::Scalar> X, View<typename M::Scalar> out, const Execution& execution) {
  using T = typename M::Scalar;
  check_inputs(map, X.cols());
  const Index n = X.rows(), units = map.units();
  // What nobody reads soon is written past the caches, along whole rows.
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
  const Index n = X.rows(), p = theta.cols(), units = map.units(), step = units_per_tile<M>();
  const int threads = execution.thread_count();
  const Matrix<T> turned = theta.transpose();  // (p, n_features)
  Scratch<T> prepared(threads, map.prepared_size(tile_rows)), features(threads, tile_rows * M::parts * step);
  parallel_for((n + tile_rows - 1) / tile_rows, threads, [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * tile_rows, rows = std::min(tile_rows, n - first);
    const auto in = map.prepare(X.data() + first * X.outerStride(), X.outerStride(), rows, prepared[worker]);
    out.middleRows(first, rows).setZero();
    T* const phi = features[worker];
    T* const result = out.data() + first * out.outerStride();
    for (Index u = 0; u < units; u += step) {
      const Index count = std::min(step, units - u);
      map.tile(in, u, count, phi, count, M::parts * count);
      for (Index k = 0; k < M::parts; ++k) {
        add_product(phi + k * count, M::parts * count, rows, count, turned.data() + k * units + u, turned.cols(), p,
                    result, out.outerStride());
      }
    }
  });
}

template <ScalarMap M>
void adjoint(const M& map, ConstView<typename M::Scalar> X, ConstView<typename M::Scalar> R, Matrix<double>& out,
             const Execution& execution) {
  using T = typename M::Scalar;
  require(R.rows() == X.rows(), "adjoint: R has {} rows, X has {}", R.rows(), X.rows());
  accumulate(
      map, X, R.cols(),
      [&](const T*, Index first, Index, T*, Index& stride) {
        stride = R.outerStride();
        return R.data() + first * stride;
      },
      out, execution);
}

template <ScalarMap M>
void normal_operator(const M& map, ConstView<typename M::Scalar> X, const typename M::Scalar* w,
                     ConstView<typename M::Scalar> theta, Matrix<double>& out, const Execution& execution) {
  using T = typename M::Scalar;
  const Index p = theta.cols(), m = map.n_features();
  const Matrix<T> turned = theta.transpose();  // (p, n_features)
  accumulate(
      map, X, p,
      [&](const T* phi, Index first, Index rows, T* scratch, Index&) {
        std::fill(scratch, scratch + rows * p, T(0));
        add_product(phi, m, rows, m, turned.data(), m, p, scratch, p);
        for (Index i = 0; w && i < rows; ++i) {
          for (Index j = 0; j < p; ++j) scratch[i * p + j] *= w[first + i];
        }
        return static_cast<const T*>(scratch);
      },
      out, execution);
}

template <class M, class... Maps>
constexpr bool is_registered(std::type_identity<std::variant<Maps...>>) {
  return (std::same_as<M, Maps> || ...);
}

#define CARMINA_INSTANTIATE(M)                                                                                    \
  static_assert(is_registered<M>(std::type_identity<AnyScalarMap<M::Scalar>>()), "scalar_maps.hpp lacks it");     \
  template void evaluate(const M&, ConstView<M::Scalar>, View<M::Scalar>, const Execution&);                      \
  template void apply(const M&, ConstView<M::Scalar>, ConstView<M::Scalar>, View<M::Scalar>, const Execution&);   \
  template void adjoint(const M&, ConstView<M::Scalar>, ConstView<M::Scalar>, Matrix<double>&, const Execution&); \
  template void normal_operator(const M&, ConstView<M::Scalar>, const M::Scalar*, ConstView<M::Scalar>,           \
                                Matrix<double>&, const Execution&);
CARMINA_INSTANTIATE(FourierMap<float>)
CARMINA_INSTANTIATE(FourierMap<double>)
CARMINA_INSTANTIATE(KernelMap<float>)
CARMINA_INSTANTIATE(KernelMap<double>)
CARMINA_INSTANTIATE(SketchedMap<float>)
CARMINA_INSTANTIATE(SketchedMap<double>)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
