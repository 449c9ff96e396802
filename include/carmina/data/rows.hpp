// data/rows.hpp -- where a fit gets its rows from: memory, or a file of any size, always block by block.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/data/table.hpp>
#include <memory>
#include <optional>
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
  std::string place(Index row) const override { return fmt::format("row {}", first_ + row + 1); }

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

// Rows of a file. Cells must be finite; a missing input passes (NaN) only when `allow_missing` is set, a
// missing target never does. Messages give file, line and column name.
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
  // File and line; only the row's number when the block was so large that it was read in several parts.
  std::string place(Index row) const override;

 private:
  Index read_part(Index filled, Index max_rows);
  void take(const TableReader& from, const Matrix<double>& cells, Index count, const std::vector<Index>& columns,
            bool missing_passes, T* to) const;

  std::unique_ptr<TableReader> reader_, target_reader_;  // the second may be null
  ColumnRoles roles_;                                    // of the columns of reader_ and of where the targets are
  bool allow_missing_;
  Matrix<double> cells_, target_cells_;  // the part last read
  Matrix<T> X_, Y_;
  Index first_ = 0, seen_ = 0, part_ = 0;  // rows before the last block; read so far; before the last part
  std::optional<Index> counted_;
};

}  // namespace carmina
