// features/moments_builder.cpp -- sums over rows of products of features, block by block.
#include "features/moments_builder.hpp"
#include "backends/blas.hpp"
#include "backends/cpu/triangle_tiling.hpp"
#include "backends/tiled.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace carmina {
namespace {

// Columns of the Gram matrix, at most, of a task of one or two threads: 2048 features and their targets make four.
constexpr Index column_tile = 544;
constexpr Index columns_together = 32;  // that products take at a time
constexpr Index rows_together = 128;
constexpr Index longest_chunk = 4096;  // makes the pass in double over a tile cheap beside its product
constexpr double largest_chunk_bytes = 512e6;

}  // namespace

template <Real T>
Index MomentsBuilder<T>::chunk_rows(Index width, const RowGrid& grid) {
  const auto rows = static_cast<Index>(largest_chunk_bytes / (static_cast<double>(width) * sizeof(T)));
  return std::min(grid.segment, std::clamp(rows / rows_together * rows_together, rows_together, longest_chunk));
}

template <Real T>
Index MomentsBuilder<T>::matrices(Index width, Index rows, const RowGrid& grid) {
  return rows > grid.segment && grid.segment > chunk_rows(width, grid) ? 2 : 1;
}

template <Real T>
MomentsBuilder<T>::MomentsBuilder(Moments& moments, const DataRows<T>& rows, const Execution& execution)
    : moments_(moments),
      execution_(execution),
      grid_(rows.grid()),
      width_(moments.sums.cols()),
      chunk_(chunk_rows(width_, grid_)),
      rows_before_(moments.rows),
      goes_on_(rows.rows() <= grid_.segment || matrices(width_, rows.rows(), grid_) > 1),
      processes_(rows.processes()),
      apart_(rows.sums_apart()),
      closed_(width_) {
  design_.resize(std::min(chunk_, std::max<Index>(rows.own_rows(), 1)), width_);
  if (apart_ || matrices(width_, rows.rows(), grid_) > 1) segment_.setZero(width_, width_);
  tile_.resize(static_cast<std::size_t>(execution.thread_count()));
}

template <Real T>
void MomentsBuilder<T>::add(const RowBlock<T>& block, const Fill& fill) {
  for (Index at = 0; at < block.rows;) {
    const Index row = block.first_row + at, to_close = grid_.segment - row % grid_.segment;
    const Index count = std::min({chunk_ - held_, block.rows - at, to_close});
    fill_rows(block, at, count, fill);
    at += count;
    open_ = count < to_close;
    if (held_ == chunk_ || !open_) add_products();
    if (!open_) close_segment();
  }
  moments_.rows += block.rows;
}

template <Real T>
void MomentsBuilder<T>::finish() {
  if (held_ > 0) add_products();
  if (open_) close_segment();
  if (!processes_) return;
  closed_.add_to(moments_.sums, *processes_);
  std::int64_t rows = moments_.rows - rows_before_;
  processes_->sum(&rows, 1);
  moments_.rows = rows_before_ + rows;
}

template <Real T>
void MomentsBuilder<T>::fill_rows(const RowBlock<T>& block, Index first, Index count, const Fill& fill) {
  const Index m = moments_.features, p = moments_.outputs;
  parallel_for((count + rows_together - 1) / rows_together, execution_.thread_count(), [&](Index task, int worker) {
    execution_.poll(worker);
    const Index at = task * rows_together, some = std::min(rows_together, count - at);
    T* const out = design_.row(held_ + at).data();
    fill(first + at, some, out, width_, worker);
    for (Index i = 0; i < some; ++i) {
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
  held_ += count;
}

// In double a sum that holds one segment alone goes on in its product; where chunks join a total, their own sum comes
// first.
template <Real T>
void MomentsBuilder<T>::add_products() {
  const auto tiling = backend::TriangleTiling::of(width_, column_tile, columns_together, execution_.thread_count());
  const Index t = tiling.tiles(), rows = held_;
  Matrix<double>& sums = segment_.size() > 0 ? segment_ : moments_.sums;
  const bool go_on = std::is_same_v<T, double> && goes_on_;
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
    auto target = sums.block(tiling.begin(i), tiling.begin(j), height, breadth);
    if constexpr (std::is_same_v<T, double>) {
      if (go_on) return product(1, target.data(), width_);
    }
    auto& tile = tile_[static_cast<std::size_t>(worker)];
    tile.resize(height, breadth);
    product(0, tile.data(), breadth);
    if (diagonal) {
      target.template triangularView<Eigen::Lower>() += tile.template cast<double>();
    } else {
      target += tile.template cast<double>();
    }
  });
  held_ = 0;
}

template <Real T>
void MomentsBuilder<T>::close_segment() {
  if (segment_.size() == 0) return;
  if (apart_) {
    closed_.close(segment_);
    segment_.setZero();
    return;
  }
  constexpr Index strip = 64;
  parallel_for((width_ + strip - 1) / strip, execution_.thread_count(), [&](Index task, int) {
    for (Index i = task * strip; i < std::min(width_, (task + 1) * strip); ++i) {
      moments_.sums.row(i).head(i + 1) += segment_.row(i).head(i + 1);
      segment_.row(i).head(i + 1).setZero();
    }
  });
}

template class MomentsBuilder<float>;
template class MomentsBuilder<double>;

}  // namespace carmina
