// features/moments_builder.hpp -- the streamed Gram matrix: rows of features in a buffer, then products of column
// tiles; where there is room, as many chunks of rows at once as there are threads, each by one thread.
#pragma once
#include "data/data_rows.hpp"
#include "features/moments.hpp"
#include "features/segmented_sum.hpp"

#include <functional>
#include <vector>

namespace carmina {

// Products of a chunk of rows are summed in T, chunks of a segment in double, then the segments.
template <Real T>
class MomentsBuilder {
 public:
  MomentsBuilder(Moments& moments, const DataRows<T>& rows, const Execution& execution);

  // Writes the features of rows [first, first + count) of the block to out, row stride ld; called by several threads.
  using Fill = std::function<void(Index first, Index count, T* out, Index ld, int worker)>;
  void add(const RowBlock<T>& block, const Fill& fill);
  void finish();  // once, after the last block: the sums of all processes

  // Rows of a chunk for sums of this order: the problem decides, not the memory budget.
  static Index chunk_rows(Index width, const RowGrid& grid);
  // Matrices of sums that are held: segments of several chunks are summed apart from the total. Where the segments of
  // other processes come first, so is half a matrix for each segment.
  static Index matrices(Index width, Index rows, const RowGrid& grid);
  // Bytes that threads hold for chunks of their own; 0: there is no room, and they share each chunk.
  static double own_bytes(Index width, Index rows, const RowGrid& grid, const Execution& execution);

 private:
  // Rows [first, first + count) of a block that are one chunk, and whether a segment ends with it.
  struct Chunk {
    Index first, count;
    bool closes;
  };
  // What a thread holds of a chunk of its own.
  struct Own {
    Matrix<T> rows, sums;  // some rows of z; their products, lower triangle
  };

  void fill_few(const RowBlock<T>& block, Index first, Index count, const Fill& fill, T* out, int worker) const;
  void fill_rows(const RowBlock<T>& block, Index first, Index count, const Fill& fill);
  std::vector<Chunk> chunks_from(const RowBlock<T>& block, Index at) const;
  void add_chunks(const RowBlock<T>& block, const std::vector<Chunk>& chunks, const Fill& fill);
  void add_products();
  void close_segment();
  void close_row(Index i);

  Moments& moments_;
  const Execution execution_;
  const RowGrid grid_;
  Index width_, chunk_, held_ = 0;
  Matrix<T> design_;        // sqrt(w) z (chunk, width)
  Matrix<double> segment_;  // of the open segment; empty: chunks are added to the total at once
  Index rows_before_;
  bool goes_on_;       // in double: one segment holds all rows, or each is summed for itself
  bool open_ = false;  // the last segment
  const Communicator* processes_;
  bool apart_;  // closed segments are kept
  ApartTriangles closed_;
  std::vector<Matrix<T>> tile_;  // per worker
  std::vector<Own> own_;         // for each chunk under way; empty: threads share chunks
};

}  // namespace carmina
