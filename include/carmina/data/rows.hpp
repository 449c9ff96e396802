// data/rows.hpp -- where a fit gets its rows from: memory, or a file of any size, always block by block.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/data/table.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace carmina {

// Some consecutive rows, borrowed until the next call of the source.
template <Real T>
struct RowBlock {
  const T* X = nullptr;        // (rows, dim_in), row stride x_stride
  const T* Y = nullptr;        // (rows, dim_out), row stride y_stride; null when there are no targets
  const T* weights = nullptr;  // (rows), null: all one
  Index rows = 0, dim_in = 0, dim_out = 0, x_stride = 0, y_stride = 0;
  Index first_row = 0;  // of this block in the whole source

  RowBlock part(Index begin, Index count) const {
    RowBlock some = *this;
    some.X += begin * x_stride;
    if (Y) some.Y += begin * y_stride;
    if (weights) some.weights += begin;
    some.rows = count;
    some.first_row += begin;
    return some;
  }

  auto inputs() const {
    return Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>(X, rows, dim_in, Eigen::OuterStride<>(x_stride));
  }
  auto targets() const {
    return Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>(Y, rows, dim_out, Eigen::OuterStride<>(y_stride));
  }
};

// Yields the same rows in the same order after each rewind.
template <Real T>
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual Index dim_in() const = 0;
  virtual Index dim_out() const = 0;              // 0: inputs alone
  virtual std::optional<Index> rows() const = 0;  // known before the first pass, or after it
  virtual RowBlock<T> next(Index max_rows) = 0;   // rows == 0 at the end; fewer than max_rows only at the end
  virtual void rewind() = 0;
  virtual std::string place(Index row) const = 0;  // of a row of the last block, for messages: "row 17"

  // Bytes that the source itself holds while blocks of so many rows are asked of it; 0 for rows that lie in memory.
  virtual double held_bytes(Index) const { return 0; }
};

// Rows that were read, in memory of their own: what a block of a file points to.
template <Real T>
struct RowBuffer {
  Matrix<T> X, Y;                // (capacity, dim_in), (capacity, dim_out)
  std::vector<Index> positions;  // (rows), in the file: TableReader::place_at
  Index rows = 0, first_row = 0;

  RowBlock<T> block(Index begin, Index count) const {
    return {.X = X.data() + begin * X.cols(),
            .Y = Y.cols() == 0 ? nullptr : Y.data() + begin * Y.cols(),
            .rows = count,
            .dim_in = X.cols(),
            .dim_out = Y.cols(),
            .x_stride = X.cols(),
            .y_stride = Y.cols(),
            .first_row = first_row + begin};
  }
};

// Borrowed matrices. Views must outlive the source.
template <Real T>
class MemoryRows final : public RowSource<T> {
 public:
  explicit MemoryRows(ConstView<T> X) : MemoryRows(X, nullptr, nullptr) {}
  MemoryRows(ConstView<T> X, ConstView<T> Y, const T* weights = nullptr) : MemoryRows(X, &Y, weights) {
    require(X.rows() == Y.rows(), "fit: Y has {} rows, X has {}", Y.rows(), X.rows());
  }

  Index dim_in() const override { return all_.dim_in; }
  Index dim_out() const override { return all_.dim_out; }
  std::optional<Index> rows() const override { return all_.rows; }
  void rewind() override { at_ = first_ = 0; }
  std::string place(Index row) const override { return format_text("row {}", first_ + row + 1); }

  RowBlock<T> next(Index max_rows) override {
    RowBlock<T> block = all_;
    block.rows = std::min(max_rows, all_.rows - at_);
    block.first_row = first_ = at_;
    block.X += at_ * all_.x_stride;
    if (block.Y) block.Y += at_ * all_.y_stride;
    if (block.weights) block.weights += at_;
    at_ += block.rows;
    return block;
  }

 private:
  MemoryRows(const ConstView<T>& X, const ConstView<T>* Y, const T* weights) {
    all_ = {X.data(),        Y ? Y->data() : nullptr,  weights, X.rows(), X.cols(), Y ? Y->cols() : 0,
            X.outerStride(), Y ? Y->outerStride() : 0, 0};
  }
  RowBlock<T> all_;
  Index at_ = 0, first_ = 0;
};

// Which columns of a file are inputs and which are targets.
struct ColumnRoles {
  std::vector<Index> inputs, targets;
};
// `targets`: column names separated by commas, or a count: the last so many columns. Empty: all columns are
// inputs. At least one column stays an input.
ColumnRoles choose_columns(const std::vector<Column>& columns, const std::string& targets, const std::string& file);

// Rows of a file. Cells must be finite; a missing target passes as NaN, a missing input only when `allow_missing` is
// set. Messages give file, line and column name.
template <Real T>
class TableRows final : public RowSource<T> {
 public:
  TableRows(std::unique_ptr<TableReader> reader, ColumnRoles roles, bool allow_missing);
  // Targets from a second file with as many rows (IDX labels): all of its columns. The roles give the inputs
  // alone.
  TableRows(std::unique_ptr<TableReader> reader, std::unique_ptr<TableReader> targets, ColumnRoles roles,
            bool allow_missing);

  Index dim_in() const override { return static_cast<Index>(roles_.inputs.size()); }
  Index dim_out() const override { return static_cast<Index>(roles_.targets.size()); }
  std::optional<Index> rows() const override;
  RowBlock<T> next(Index max_rows) override;
  void rewind() override;
  std::string place(Index row) const override { return place(last_, row); }
  double held_bytes(Index rows_at_once) const override;

  // The next rows behind those that `into` holds, until it holds `wanted`, the file ends, or `stop` asks to give up.
  void read(RowBuffer<T>& into, Index wanted, const std::stop_token& stop = {});
  bool at_end() const { return counted_ == seen_; }
  // Of a row that was read into a buffer: file and line. May be asked while another thread reads.
  std::string place(const RowBuffer<T>& buffer, Index row) const {
    return reader_->place_at(buffer.positions.at(static_cast<std::size_t>(row)));
  }

 private:
  // Neighbouring columns of a file that are neighbours in a block too.
  struct Run {
    Index from, to, count;
  };
  static std::vector<Run> runs_of(const std::vector<Index>& columns);
  Index part_rows() const;
  template <class Cell>
  Index read_cells(TableReader& from, Index capacity, Matrix<Cell>& cells);
  template <class Cell>
  Index read_part(RowBuffer<T>& into, Index wanted, Matrix<Cell>& cells);
  template <class Cell>
  void take(const TableReader& from, const Matrix<Cell>& cells, Index count, const std::vector<Run>& runs,
            bool missing_passes, T* to) const;

  std::unique_ptr<TableReader> reader_, target_reader_;  // the second may be null
  ColumnRoles roles_;                                    // of the columns of reader_ and of where the targets are
  std::vector<Run> input_runs_, target_runs_;
  bool allow_missing_, floats_ = false;  // cells are read as floats
  Matrix<double> cells_, target_cells_;  // the part last read
  Matrix<float> float_cells_;
  RowBuffer<T> last_;  // what next() gave
  Index seen_ = 0;     // rows read so far
  std::optional<Index> counted_;
};

}  // namespace carmina
