// features/moments_builder.hpp -- the streamed Gram matrix: rows of features in a buffer, then products of column
// tiles.
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

 private:
  void fill_rows(const RowBlock<T>& block, Index first, Index count, const Fill& fill);
  void add_products();
  void close_segment();

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
};

}  // namespace carmina
