// data/data_rows.hpp -- the rows of a fit, numbered through one or several sources: the only code that reads a source
// again and again.
//
// Everything a fit draws or divides goes by the global number of a row, and sums go by a fixed tree (RowGrid): the same
// numbers whatever the block size, the number of threads or the division of the rows into parts.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/data/rows.hpp>
#include <functional>
#include <vector>

namespace carmina {

// How a sum over n rows is cut, a function of the problem alone. Rows of a `stretch` are summed in the data's
// precision, stretches of a `segment` one after the other in double, and the segments' sums in their order. Parts of a
// table hold whole segments.
struct RowGrid {
  Index stretch = 128, segment = 128;

  static RowGrid of(Index rows, Index columns);
};

// Rows that are held in memory.
template <Real T>
struct HeldRows {
  Matrix<T> X, Y;              // (count, dim_in), (count, dim_out)
  Vector<T> weights;           // (count); empty: all one
  std::vector<Index> numbers;  // global, ascending

  Index rows() const { return X.rows(); }
  const T* weights_or_null() const { return weights.size() > 0 ? weights.data() : nullptr; }
};

template <Real T>
class DataRows {
 public:
  // Consecutive parts of one table; they must outlive this.
  explicit DataRows(std::vector<RowSource<T>*> parts);
  explicit DataRows(RowSource<T>& rows) : DataRows(std::vector<RowSource<T>*>{&rows}) {}

  Index dim_in() const { return parts_[0]->dim_in(); }
  Index dim_out() const { return parts_[0]->dim_out(); }
  // Of all parts together: known from the sources, or after the first pass.
  std::optional<Index> known_rows() const;
  Index rows() const;
  RowGrid grid() const { return RowGrid::of(rows(), dim_in() + dim_out()); }
  // Bytes that the sources hold for blocks of so many rows.
  double held_bytes(Index rows_at_once) const;

  // Rows of a block, rounded to whole stretches. It changes no result.
  void read_at_once(Index rows) { at_once_ = rows; }
  Index rows_at_once() const;

  // Calls body(block) for all rows in their order; first_row of a block is global, and blocks begin at stretches.
  using Body = std::function<void(const RowBlock<T>& block)>;
  void for_blocks(const char* phase, const Execution& execution, const Body& body) const;
  // The same for blocks of exactly `rows` rows but the last, whatever the parts; blocks are copies.
  void for_windows(Index rows, const char* phase, const Execution& execution, const Body& body) const;
  // What the first pass found (models/fit/summary.hpp). Rows without any target: from now on they have weight zero and
  // targets of zero. Rows that lack some of their targets: from now on sums take the rows that each output has.
  void ignore_rows_without_target(bool ignore) const { ignores_ = ignore; }
  void take_missing_targets(bool missing) const { missing_ = missing; }
  bool has_missing_targets() const { return missing_; }
  const std::vector<RowSource<T>*>& parts() const { return parts_; }

  // Of a row of the block that a body was called with, for messages.
  std::string place(Index row) const { return current_->place(row); }

  // The rows for which keep(global number, weight) is true; so many are expected.
  HeldRows<T> gather(const std::function<bool(Index number, double weight)>& keep, const Execution& execution,
                     Index expected = 0) const;
  // Rows by their ascending numbers among those of positive weight.
  HeldRows<T> gather(const std::vector<Index>& among_weighted, const Execution& execution) const;

 private:
  std::vector<RowSource<T>*> parts_;
  Index at_once_ = Index{1} << 16;
  mutable std::optional<Index> counted_;
  mutable const RowSource<T>* current_ = nullptr;
  mutable bool ignores_ = false, missing_ = false;
};

// A source as at most k parts, each of whole segments: ranges of the same rows.
template <Real T>
class RowRange final : public RowSource<T> {
 public:
  // Rows [first, first + count) of a source that knows its number of rows.
  RowRange(RowSource<T>& rows, Index first, Index count) : rows_(rows), first_(first), count_(count) {}

  Index dim_in() const override { return rows_.dim_in(); }
  Index dim_out() const override { return rows_.dim_out(); }
  std::optional<Index> rows() const override { return count_; }
  RowBlock<T> next(Index max_rows) override;
  void rewind() override;
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index rows_at_once) const override { return rows_.held_bytes(rows_at_once); }

 private:
  RowSource<T>& rows_;
  Index first_, count_, at_ = 0;
};
template <Real T>
std::vector<RowRange<T>> divide_rows(RowSource<T>& rows, Index parts);

}  // namespace carmina
