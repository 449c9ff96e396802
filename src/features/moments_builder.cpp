// features/moments_builder.cpp -- sums over rows of products of features, block by block.
#include "features/moments_builder.hpp"
#include "backends/blas.hpp"
#include "backends/cpu/triangle_tiling.hpp"
#include "backends/huge_pages.hpp"
#include "backends/tiled.hpp"
#include "backends/vector_math.hpp"

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
constexpr double most_own_bytes = 400e6;
constexpr int fewest_threads_alone = 4;  // fewer share a chunk as fast, and in less memory

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
double MomentsBuilder<T>::own_bytes(Index width, Index rows, const RowGrid& grid, const Execution& execution) {
  const int threads = execution.thread_count();
  const Index chunk = chunk_rows(width, grid);
  if (threads < fewest_threads_alone || rows < threads * chunk || (!std::is_same_v<T, float> && rows <= grid.segment))
    return 0;
  const double bytes =
      static_cast<double>(threads * width * (width + std::min(chunk, backend::product_depth<T>()))) * sizeof(T);
  const auto budget = static_cast<double>(execution.memory_budget);
  return bytes <= (budget > 0 ? std::min(budget / 8, most_own_bytes) : most_own_bytes) ? bytes : 0;
}

template <Real T>
MomentsBuilder<T>::MomentsBuilder(Moments& moments, const DataRows<T>& rows, const Execution& execution)
    : moments_(moments),
      execution_(execution),
      grid_(rows.grid()),
      width_(moments.sums.cols()),
      chunk_(chunk_rows(width_, grid_)),
      rows_before_(moments.rows),
      goes_on_(rows.rows() <= grid_.segment),
      processes_(rows.processes()),
      apart_(rows.sums_apart()),
      closed_(width_) {
  design_.resize(std::min(chunk_, std::max<Index>(rows.own_rows(), 1)), width_);
  backend::prefer_huge_pages(design_);
  if (apart_ || matrices(width_, rows.rows(), grid_) > 1) segment_ = backend::zeros<double>(width_, width_, execution);
  const auto threads = static_cast<std::size_t>(execution.thread_count());
  tile_.resize(threads);
  if (!apart_ && own_bytes(width_, rows.own_rows(), grid_, execution) > 0) own_.resize(threads);
}

template <Real T>
void MomentsBuilder<T>::add(const RowBlock<T>& block, const Fill& fill) {
  for (Index at = 0; at < block.rows;) {
    if (const std::vector<Chunk> chunks = chunks_from(block, at); !chunks.empty()) {
      add_chunks(block, chunks, fill);
      at = chunks.back().first + chunks.back().count;
      continue;
    }
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

// sqrt(w) [phi, y - origin, 1]
template <Real T>
void MomentsBuilder<T>::fill_few(const RowBlock<T>& block, Index first, Index count, const Fill& fill, T* out,
                                 int worker) const {
  const Index m = moments_.features, p = moments_.outputs;
  fill(first, count, out, width_, worker);
  for (Index i = 0; i < count; ++i) {
    T* row = out + i * width_;
    const T* y = block.Y + (first + i) * block.y_stride;
    for (Index j = 0; j < p; ++j) row[m + j] = static_cast<T>(static_cast<double>(y[j]) - moments_.origin[j]);
    row[m + p] = 1;
    if (block.weights) {
      const T root = std::sqrt(block.weights[first + i]);
      for (Index j = 0; j < width_; ++j) row[j] *= root;
    }
  }
}

template <Real T>
void MomentsBuilder<T>::fill_rows(const RowBlock<T>& block, Index first, Index count, const Fill& fill) {
  parallel_for((count + rows_together - 1) / rows_together, execution_.thread_count(), [&](Index task, int worker) {
    execution_.poll(worker);
    const Index at = task * rows_together, some = std::min(rows_together, count - at);
    fill_few(block, first + at, some, fill, design_.row(held_ + at).data(), worker);
  });
  held_ += count;
}

// A chunk for each thread, where the block has as many whole ones from row `at` on, or nearly.
template <Real T>
std::vector<typename MomentsBuilder<T>::Chunk> MomentsBuilder<T>::chunks_from(const RowBlock<T>& block,
                                                                              Index at) const {
  std::vector<Chunk> chunks;
  if (held_ > 0 || own_.empty()) return chunks;
  while (chunks.size() < own_.size()) {
    const Index to_close = grid_.segment - (block.first_row + at) % grid_.segment, count = std::min(chunk_, to_close);
    if (at + count > block.rows) break;
    chunks.push_back({at, count, count == to_close});
    at += count;
  }
  if (5 * chunks.size() < 4 * own_.size()) chunks.clear();
  return chunks;
}

// Each by one thread, some rows at a time; then added in their order. An entry has the same sums as by tiles.
template <Real T>
void MomentsBuilder<T>::add_chunks(const RowBlock<T>& block, const std::vector<Chunk>& chunks, const Fill& fill) {
  const Index together = backend::product_depth<T>();  // where products cut their sums
  parallel_for(static_cast<Index>(chunks.size()), execution_.thread_count(), [&](Index task, int worker) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(task)];
    Own& own = own_[static_cast<std::size_t>(task)];
    if (own.sums.size() == 0) {
      own.rows.resize(std::min(together, chunk_), width_);
      own.sums.resize(width_, width_);
      backend::prefer_huge_pages(own.sums);
    }
    for (Index at = 0; at < chunk.count; at += together) {
      execution_.poll(worker);
      const Index count = std::min(together, chunk.count - at);
      fill_few(block, chunk.first + at, count, fill, own.rows.data(), worker);
      backend::gram<T>(width_, count, T(1), own.rows.data(), width_, at == 0 ? T(0) : T(1), own.sums.data(), width_);
    }
  });
  Matrix<double>& sums = segment_.size() > 0 ? segment_ : moments_.sums;
  constexpr Index strip = 32;
  parallel_for((width_ + strip - 1) / strip, execution_.thread_count(), [&](Index task, int) {
    for (Index i = task * strip; i < std::min(width_, (task + 1) * strip); ++i) {
      for (std::size_t k = 0; k < chunks.size(); ++k) {
        sums.row(i).head(i + 1) += own_[k].sums.row(i).head(i + 1).template cast<double>();
        if (chunks[k].closes && segment_.size() > 0) close_row(i);
      }
    }
  });
  open_ = !chunks.back().closes;
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
    for (Index i = task * strip; i < std::min(width_, (task + 1) * strip); ++i) close_row(i);
  });
}

template <Real T>
void MomentsBuilder<T>::close_row(Index i) {
  moments_.sums.row(i).head(i + 1) += segment_.row(i).head(i + 1);
  segment_.row(i).head(i + 1).setZero();
}

template class MomentsBuilder<float>;
template class MomentsBuilder<double>;

}  // namespace carmina
