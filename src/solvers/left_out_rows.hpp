// solvers/left_out_rows.hpp -- the second pass of a path: features of the rows turned into the eigenvectors of their
// Gram matrix, tile by tile.
#pragma once
#include <carmina/backends/blas.hpp>
#include <carmina/data/rows.hpp>
#include <carmina/features/map_operations.hpp>

#include <algorithm>
#include <vector>

namespace carmina {

// Some turned rows: Z (rows, columns) for the rows of the block from `first`.
template <Real T>
struct TurnedTile {
  const RowBlock<T>& block;
  Index first;
  const Matrix<T>& Z;
  Index rows() const { return Z.rows(); }
  double weight(Index i) const { return block.weights ? static_cast<double>(block.weights[first + i]) : 1.0; }
  Vector<double> target(Index i) const { return block.targets().row(first + i).transpose().template cast<double>(); }
};

// The sum over all rows of what add(tile, sums) adds to `sums` (count), with Z = (phi - mean) turn.
template <ScalarMap M, class Add>
Vector<double> sum_turned_rows(const M& map, RowSource<typename M::Scalar>& rows, Index rows_at_once,
                               const Vector<double>& mean, const Matrix<typename M::Scalar>& turn, Index count,
                               const Add& add, const Execution& execution) {
  using T = typename M::Scalar;
  constexpr Index tile_rows = 256, tile_units = 512;
  const Index m = map.n_features(), units = map.units();
  const Vector<T>& centre = mean.template cast<T>();
  struct Scratch {
    Matrix<T> phi, Z, prepared;
  };
  std::vector<Scratch> scratch(static_cast<std::size_t>(execution.thread_count()));
  Vector<double> sum = Vector<double>::Zero(count);
  rows.rewind();
  for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
    const Index tiles = (block.rows + tile_rows - 1) / tile_rows;
    Matrix<double> partial = Matrix<double>::Zero(tiles, count);
    parallel_for(tiles, execution.thread_count(), [&](Index task, int worker) {
      execution.poll(worker);
      auto& own = scratch[static_cast<std::size_t>(worker)];
      const Index first = task * tile_rows, some = std::min(tile_rows, block.rows - first);
      own.prepared.resize(1, map.prepared_size(tile_rows) + 1);
      own.phi.resize(some, m);
      own.Z.resize(some, turn.cols());
      const auto in = map.prepare(block.X + first * block.x_stride, block.x_stride, some, own.prepared.data());
      for (Index u = 0; u < units; u += tile_units) {
        map.tile(in, u, std::min(tile_units, units - u), own.phi.data() + u, units, m);
      }
      own.phi.rowwise() -= centre.transpose();
      backend::gemm<T>(backend::Transpose::no, backend::Transpose::no, some, turn.cols(), m, T(1), own.phi.data(), m,
                       turn.data(), turn.cols(), T(0), own.Z.data(), turn.cols());
      Vector<double> sums = Vector<double>::Zero(count);
      add(TurnedTile<T>{block, first, own.Z}, sums);
      partial.row(task) = sums;
    });
    for (Index task = 0; task < tiles; ++task) sum += partial.row(task).transpose();
    execution.checkpoint({"leaving out", block.first_row + block.rows, rows.rows().value_or(0)});
  }
  return sum;
}

}  // namespace carmina
