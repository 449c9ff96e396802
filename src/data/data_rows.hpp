// data/data_rows.hpp -- the rows of a fit, numbered through one or several sources: the only code that reads a source
// again and again.
//
// Everything a fit draws or divides goes by the global number of a row, and sums go by a fixed tree (RowGrid): the same
// numbers whatever the block size, the number of threads or the division of the rows into parts.
#pragma once
#include <carmina/core/communicator.hpp>
#include <carmina/core/execution.hpp>
#include <carmina/data/rows.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

namespace carmina {

// How a sum over n rows is cut, a function of the problem alone. Rows of a `stretch` are summed in the data's
// precision, stretches of a `segment` one after the other in double, and the segments' sums in their order. Parts of a
// table hold whole segments.
struct RowGrid {
  Index stretch = 128, segment = 128;

  static RowGrid of(Index rows, Index columns);
};

// Copies that a weight stands for, for samples: a weight that is no whole number is one row with this weight. Numbers
// of copies are doubles: exact up to 2^53 in all, and beyond that a row is placed to rounding, at no more cost.
inline double weight_copies(double weight) { return weight == std::floor(weight) ? weight : 1; }

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
struct OwnSegments;  // data/own_segments.hpp

template <Real T>
class DataRows {
 public:
  // Consecutive parts of one table; they must outlive this.
  explicit DataRows(std::vector<RowSource<T>*> parts);
  explicit DataRows(RowSource<T>& rows) : DataRows(std::vector<RowSource<T>*>{&rows}) {}
  // The part of a table that this process has, behind those of the processes before it. All of them make this together:
  // rows at the borders move until each process has whole segments. None: as above.
  DataRows(std::vector<RowSource<T>*> parts, const Communicator* processes, const Execution& execution = {});
  ~DataRows();
  DataRows(const DataRows&) = delete;

  Index dim_in() const { return parts_[0]->dim_in(); }
  Index dim_out() const { return parts_[0]->dim_out(); }
  // Of all parts together, those of other processes too: known from the sources, or after the first pass.
  std::optional<Index> known_rows() const;
  Index rows() const;
  // Null: all rows are here. Else rows [first_row(), first_row() + own_rows()) are.
  const Communicator* processes() const { return processes_; }
  Index first_row() const { return first_row_; }
  Index own_rows() const { return processes_ ? own_rows_ : rows(); }
  // Sums of closed segments are kept one by one: those of other processes come first.
  bool sums_apart() const { return processes_ && processes_->rank() > 0; }
  RowGrid grid() const { return RowGrid::of(rows(), dim_in() + dim_out()); }
  // Bytes that the sources hold for blocks of so many rows.
  double held_bytes(Index rows_at_once) const;

  // Rows of a block, rounded to whole stretches. It changes no result.
  void read_at_once(Index rows) { at_once_ = rows; }
  Index rows_at_once() const;

  // Calls body(block) for all rows that are here in their order; first_row of a block is global, and blocks begin at
  // stretches.
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

  // Of the rows before those that are here: how many have a positive weight, and their copies.
  struct Before {
    Index rows = 0;
    double copies = 0;
  };
  Before before(const Execution& execution) const;
  void set_before(const Before& before) const { before_ = before; }  // what a pass has found anyway

  // The rows to which take(global number, weight) gives a weight that is not zero, with that weight; so many are
  // expected. All processes have all of them.
  using Take = std::function<double(Index number, double weight)>;
  HeldRows<T> gather(const Take& take, const Execution& execution, Index expected = 0) const;
  // Rows by their ascending global numbers, with their weights; those without weight are left out when asked.
  HeldRows<T> gather_numbers(const std::vector<Index>& numbers, bool weighted, const Execution& execution) const;
  // Rows by their ascending numbers among those of positive weight.
  HeldRows<T> gather(const std::vector<Index>& among_weighted, const Execution& execution) const;

 private:
  HeldRows<T> of_all_processes(HeldRows<T> own) const;

  std::vector<RowSource<T>*> parts_;
  const Communicator* processes_ = nullptr;
  std::unique_ptr<OwnSegments<T>> segments_;  // what parts_ reads, among processes
  Index first_row_ = 0, own_rows_ = 0;
  mutable std::optional<Before> before_;
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
