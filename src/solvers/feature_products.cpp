// solvers/feature_products.cpp -- products of stored and of streamed features for solvers that pass over the rows
// often.
#include <carmina/backends/blas.hpp>
#include <carmina/features/sketched_map.hpp>
#include <carmina/solvers/any_loss.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {
namespace {

using backend::Transpose;

constexpr Index tile_rows = 512;
constexpr Index wave = 16;  // partial sums under way at once, whatever the number of threads

// Adds fill(tile, out) of every tile in order; out (rows, columns) of each is zeroed before.
template <class Fill>
void ordered_sum(Index tiles, Index rows, Index columns, int threads, const Fill& fill, Matrix<double>& total) {
  total.setZero(rows, columns);
  std::vector<Matrix<double>> partial(static_cast<std::size_t>(std::min(wave, tiles)));
  for (Index begin = 0; begin < tiles; begin += wave) {
    const Index count = std::min(wave, tiles - begin);
    parallel_for(count, threads, [&](Index k, int) {
      auto& sum = partial[static_cast<std::size_t>(k)];
      sum.setZero(rows, columns);
      fill(begin + k, sum);
    });
    for (Index k = 0; k < count; ++k) total += partial[static_cast<std::size_t>(k)];
  }
}

// The lower triangle of total += packedᵀ packed of the first `rows` rows, a square of columns a task: threads of BLAS's
// own would wait for each other, and for the pool's, between products as short as these.
void add_packed(const Matrix<double>& packed, Index rows, Matrix<double>& total, int threads) {
  constexpr Index side = 192;
  const Index width = packed.cols(), t = (width + side - 1) / side;
  parallel_for(t * (t + 1) / 2, threads, [&](Index task, int) {
    Index i = 0, j = task;
    while (j > i) j -= ++i;
    const Index height = std::min(side, width - i * side), breadth = std::min(side, width - j * side);
    const double *left = packed.data() + i * side, *right = packed.data() + j * side;
    double* const out = total.data() + i * side * width + j * side;
    if (i == j) {
      backend::gram<double>(height, rows, 1.0, left, width, 1.0, out, width);
    } else {
      backend::gemm<double>(Transpose::yes, Transpose::no, height, breadth, rows, 1.0, left, width, right, width, 1.0,
                            out, width);
    }
  });
}

// Adds [phi, 1]ᵀ diag(u) [phi, 1] of rows held in memory, lower triangle. Rows without weight are left out, the others
// multiplied by sqrt(u) and packed, about `packed_rows` at a time.
template <Real T>
void add_gram(const T* phi, Index stride, Index rows, Index m, const double* u, Matrix<double>& total,
              const Execution& execution) {
  constexpr Index packed_rows = 4096;
  std::vector<Index> active;
  for (Index i = 0; i < rows; ++i) {
    if (u[i] > 0) active.push_back(i);
  }
  const auto count = static_cast<Index>(active.size());
  Matrix<double> packed(std::min(packed_rows, std::max<Index>(count, 1)), m + 1);
  for (Index first = 0; first < count; first += packed_rows) {
    const Index now = std::min(packed_rows, count - first);
    parallel_for((now + tile_rows - 1) / tile_rows, execution.thread_count(), [&](Index tile, int) {
      for (Index k = tile * tile_rows; k < std::min(now, (tile + 1) * tile_rows); ++k) {
        const Index i = active[static_cast<std::size_t>(first + k)];
        const double root = std::sqrt(u[i]);
        for (Index j = 0; j < m; ++j) packed(k, j) = root * static_cast<double>(phi[i * stride + j]);
        packed(k, m) = root;
      }
    });
    add_packed(packed, now, total, execution.thread_count());
  }
}

}  // namespace

template <Real T>
FeatureProducts stored_features(const Matrix<T>& phi, const Execution& execution) {
  const Index n = phi.rows(), m = phi.cols(), tiles = (n + tile_rows - 1) / tile_rows;
  const auto rows_of = [n](Index tile) { return std::min(tile_rows, n - tile * tile_rows); };
  FeatureProducts products{n, m, {}, {}, {}};
  products.forward = [&phi, execution, n, m, tiles, rows_of](const Matrix<double>& C, Matrix<double>& F) {
    const Index q = C.cols();
    const Matrix<T>& narrow = C.template cast<T>();
    F.resize(n, q);
    parallel_for(tiles, execution.thread_count(), [&](Index tile, int) {
      const Index rows = rows_of(tile), first = tile * tile_rows;
      Matrix<T> part(rows, q);
      backend::gemm<T>(Transpose::no, Transpose::no, rows, q, m, T(1), phi.data() + first * m, m, narrow.data(), q,
                       T(0), part.data(), q);
      F.middleRows(first, rows) = part.template cast<double>();
    });
  };
  products.backward = [&phi, execution, m, tiles, rows_of](const Matrix<double>& R, Matrix<double>& out) {
    const Index q = R.cols();
    const auto fill = [&](Index tile, Matrix<double>& sum) {
      const Index rows = rows_of(tile), first = tile * tile_rows;
      const Matrix<T> narrow = R.middleRows(first, rows).template cast<T>();
      Matrix<T> part(m, q);
      backend::gemm<T>(Transpose::yes, Transpose::no, m, q, rows, T(1), phi.data() + first * m, m, narrow.data(), q,
                       T(0), part.data(), q);
      sum = part.template cast<double>();
    };
    ordered_sum(tiles, m, q, execution.thread_count(), fill, out);
  };
  products.gram = [&phi, execution, n, m](const Vector<double>& u, Matrix<double>& out) {
    out.setZero(m + 1, m + 1);
    add_gram(phi.data(), m, n, m, u.data(), out, execution);
  };
  products.runs = [&phi, n, m](const auto& body) {
    body(0, n, [&phi, m](const Index* places, Index count, Matrix<double>& out) {
      out.resize(count, m);
      for (Index k = 0; k < count; ++k) out.row(k) = phi.row(places[k]).template cast<double>();
    });
  };
  return products;
}

// The products of n p rows, F and R seen as (n, p).
FeatureProducts stored_blocks(const Matrix<double>& phi, Index outputs, const Execution& execution) {
  const FeatureProducts tall = stored_features(phi, execution);
  const Index n = phi.rows() / outputs;
  FeatureProducts products{n, phi.cols(), {}, {}, tall.gram, outputs, {}};
  products.forward = [tall, n, outputs](const Matrix<double>& C, Matrix<double>& F) {
    Matrix<double> column;
    tall.forward(C, column);
    F = Eigen::Map<const Matrix<double>>(column.data(), n, outputs);
  };
  products.backward = [tall](const Matrix<double>& R, Matrix<double>& out) {
    tall.backward(Matrix<double>(Eigen::Map<const Matrix<double>>(R.data(), R.size(), 1)), out);
  };
  products.runs = [&phi, n, outputs](const auto& body) {
    body(0, n, [&phi, outputs](const Index* places, Index count, Matrix<double>& out) {
      out.resize(count * outputs, phi.cols());
      for (Index k = 0; k < count; ++k) {
        out.middleRows(k * outputs, outputs) = phi.middleRows(places[k] * outputs, outputs);
      }
    });
  };
  return products;
}

template <ScalarMap M>
FeatureProducts streamed_features(const M& map, RowSource<typename M::Scalar>& rows, Index row_count,
                                  Index rows_at_once, const Execution& execution) {
  using T = typename M::Scalar;
  const Index m = map.n_features();
  FeatureProducts products{row_count, m, {}, {}, {}};
  const auto blocks = [&rows, rows_at_once](const auto& body) {
    rows.rewind();
    for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) body(block);
  };
  products.forward = [&map, blocks, execution, row_count](const Matrix<double>& C, Matrix<double>& F) {
    const Matrix<T>& narrow = C.template cast<T>();
    F.resize(row_count, C.cols());
    blocks([&](const RowBlock<T>& block) {
      Matrix<T> part(block.rows, C.cols());
      apply(map, block.inputs(), narrow, View<T>(part), execution);
      F.middleRows(block.first_row, block.rows) = part.template cast<double>();
    });
  };
  products.backward = [&map, blocks, execution, m](const Matrix<double>& R, Matrix<double>& out) {
    out.setZero(m, R.cols());
    blocks([&](const RowBlock<T>& block) {
      const Matrix<T> narrow = R.middleRows(block.first_row, block.rows).template cast<T>();
      adjoint(map, block.inputs(), narrow, out, execution);
    });
  };
  products.gram = [&map, blocks, execution, m](const Vector<double>& u, Matrix<double>& out) {
    out.setZero(m + 1, m + 1);
    constexpr Index evaluated_rows = 4096;
    blocks([&](const RowBlock<T>& block) {
      for (Index first = 0; first < block.rows; first += evaluated_rows) {
        const Index count = std::min(evaluated_rows, block.rows - first);
        Matrix<T> phi(count, m);
        evaluate(map, block.inputs().middleRows(first, count), View<T>(phi), execution);
        add_gram(phi.data(), m, count, m, u.data() + block.first_row + first, out, execution);
      }
    });
  };
  products.runs = [&map, blocks, execution, m](const auto& body) {
    blocks([&](const RowBlock<T>& block) {
      body(block.first_row, block.rows, [&](const Index* places, Index count, Matrix<double>& out) {
        Matrix<T> X(count, block.dim_in), phi(count, m);
        for (Index k = 0; k < count; ++k) X.row(k) = block.inputs().row(places[k]);
        evaluate(map, X, View<T>(phi), execution);
        out = phi.template cast<double>();
      });
    });
  };
  return products;
}

template FeatureProducts stored_features(const Matrix<float>&, const Execution&);
template FeatureProducts stored_features(const Matrix<double>&, const Execution&);
#define CARMINA_INSTANTIATE(M) \
  template FeatureProducts streamed_features(const M&, RowSource<M::Scalar>&, Index, Index, const Execution&);
CARMINA_INSTANTIATE(FourierMap<float>)
CARMINA_INSTANTIATE(FourierMap<double>)
CARMINA_INSTANTIATE(SketchedMap<float>)
CARMINA_INSTANTIATE(SketchedMap<double>)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
