// solvers/moments.cpp -- the streamed Gram matrix: rows of features in a buffer, then products of column tiles.
#include <carmina/backends/blas.hpp>
#include <carmina/features/sketched_map.hpp>
#include <carmina/solvers/moments.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace carmina {
namespace {

constexpr Index column_tile = 544;  // of the Gram matrix, one tile a task: 2048 features and their targets make four
constexpr Index fill_rows = 128;

// Column ranges of about equal width, at most column_tile.
struct Tiling {
  Index width, tiles;
  explicit Tiling(Index total) : width(total), tiles((total + column_tile - 1) / column_tile) {}
  Index begin(Index i) const { return i * width / tiles; }
  Index size(Index i) const { return begin(i + 1) - begin(i); }
};

}  // namespace

Moments::Moments(Index n_features, Vector<double> target_origin)
    : features(n_features), outputs(target_origin.size()), origin(std::move(target_origin)) {
  sums.setZero(features + outputs + 1, features + outputs + 1);
}

template <ScalarMap M>
Index MomentsBuilder<M>::choose_rows(Index m, std::size_t memory_budget) {
  // 4096 rows make the pass in double over a tile cheap beside its product.
  const auto bytes_per_row = static_cast<double>(m) * sizeof(T);
  const double allowed = memory_budget > 0 ? 0.25 * static_cast<double>(memory_budget) : 512e6;
  const auto rows = static_cast<Index>(allowed / bytes_per_row);
  return std::clamp<Index>(rows / fill_rows * fill_rows, fill_rows, 4096);
}

template <ScalarMap M>
MomentsBuilder<M>::MomentsBuilder(const M& map, Moments& moments, const Execution& execution)
    : map_(map), moments_(moments), execution_(execution), width_(moments.sums.cols()) {
  rows_at_once_ = choose_rows(width_, execution.memory_budget);
  tile_.resize(static_cast<std::size_t>(execution.thread_count()));
  prepared_.resize(tile_.size());
}

template <ScalarMap M>
void MomentsBuilder<M>::add(const RowBlock<T>& block) {
  add(block, nullptr);
}

template <ScalarMap M>
void MomentsBuilder<M>::add(const RowBlock<T>& block, ConstView<T> features) {
  add(block, &features);
}

template <ScalarMap M>
void MomentsBuilder<M>::add(const RowBlock<T>& block, const ConstView<T>* features) {
  design_.resize(std::max(design_.rows(), std::min(rows_at_once_, block.rows)), width_);
  for (Index first = 0; first < block.rows; first += rows_at_once_) {
    const Index rows = std::min(rows_at_once_, block.rows - first);
    fill(block, first, rows, features);
    add_products(rows);
  }
  moments_.rows += block.rows;
}

template <ScalarMap M>
void MomentsBuilder<M>::fill(const RowBlock<T>& block, Index first, Index rows, const ConstView<T>* features) {
  const Index m = map_.n_features(), p = moments_.outputs, units = map_.units();
  const Index step = std::max<Index>(64, 65536 / (fill_rows * static_cast<Index>(sizeof(T))) * 4);
  parallel_for((rows + fill_rows - 1) / fill_rows, execution_.thread_count(), [&](Index task, int worker) {
    execution_.poll(worker);
    const Index at = task * fill_rows, count = std::min(fill_rows, rows - at);
    T* const out = design_.row(at).data();
    if (features) {
      for (Index i = 0; i < count; ++i) std::copy_n(features->row(first + at + i).data(), m, out + i * width_);
    } else {
      auto& scratch = prepared_[static_cast<std::size_t>(worker)];
      if (scratch.size() == 0) scratch.resize(1, map_.prepared_size(fill_rows) + 1);
      const T* X = block.X + (first + at) * block.x_stride;
      const auto in = map_.prepare(X, block.x_stride, count, scratch.data());
      for (Index u = 0; u < units; u += step) map_.tile(in, u, std::min(step, units - u), out + u, units, width_);
    }
    for (Index i = 0; i < count; ++i) {
      T* row = out + i * width_;
      const T* y = block.Y + (first + at + i) * block.y_stride;
      for (Index j = 0; j < p; ++j) row[m + j] = static_cast<T>(static_cast<double>(y[j]) - moments_.origin[j]);
      row[m + p] = 1;
      if (block.weights) {
        const T root = std::sqrt(block.weights[first + at + i]);
        for (Index j = 0; j < width_; ++j) row[j] *= root;
      }
    }
  });
}

template <ScalarMap M>
void MomentsBuilder<M>::add_products(Index rows) {
  const Tiling tiling(width_);
  const Index t = tiling.tiles;
  // Tiles below the diagonal first, the cheaper ones on it last: threads end together.
  parallel_for(t * (t + 1) / 2, execution_.thread_count(), [&](Index task, int worker) {
    execution_.poll(worker);
    Index i = 1, j = task;
    while (j >= i && i < t) j -= i++;
    const bool diagonal = i == t;
    if (diagonal) i = j;
    const Index height = tiling.size(i), breadth = tiling.size(j);
    const T *left = design_.data() + tiling.begin(i), *right = design_.data() + tiling.begin(j);
    const auto product = [&](T beta, T* out, Index stride) {
      if (diagonal) {
        backend::gram<T>(height, rows, T(1), left, width_, beta, out, stride);
      } else {
        backend::gemm<T>(backend::Transpose::yes, backend::Transpose::no, height, breadth, rows, T(1), left, width_,
                         right, width_, beta, out, stride);
      }
    };
    auto target = moments_.sums.block(tiling.begin(i), tiling.begin(j), height, breadth);
    if constexpr (std::is_same_v<T, double>) {
      product(1, target.data(), width_);
    } else {
      auto& tile = tile_[static_cast<std::size_t>(worker)];
      tile.resize(height, breadth);
      product(0, tile.data(), breadth);
      if (diagonal) {
        target.template triangularView<Eigen::Lower>() += tile.template cast<double>();
      } else {
        target += tile.template cast<double>();
      }
    }
  });
}

template class MomentsBuilder<FourierMap<float>>;
template class MomentsBuilder<FourierMap<double>>;
template class MomentsBuilder<SketchedMap<float>>;
template class MomentsBuilder<SketchedMap<double>>;

}  // namespace carmina
