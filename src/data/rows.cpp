// data/rows.cpp -- the rows of a file as blocks of inputs and targets, every cell checked.
#include <algorithm>
#include <carmina/data/rows.hpp>
#include <cmath>
#include <numeric>

#include "cells.hpp"

namespace carmina {

namespace {

// Cells that are read at once, as doubles, before they become inputs and targets: a block of any size needs
// no more.
constexpr Index part_cells = Index{1} << 18;

template <Real T>
[[noreturn]] void fail_value(double value, bool is_target, const std::string& place, const std::string& column) {
  if (std::isnan(value) && is_target) fail("{}: column '{}': a target must not be missing", place, column);
  if (std::isnan(value)) {
    fail(
        "{}: column '{}': the value is missing; fill missing inputs with the training mean (--fill-missing), "
        "or remove "
        "the row",
        place, column);
  }
  if (std::isinf(value)) fail("{}: column '{}': expected a finite number, found {}", place, column, value);
  fail("{}: column '{}': {} is too large for single precision", place, column, value);
}

}  // namespace

template <Real T>
TableRows<T>::TableRows(std::unique_ptr<TableReader> reader, ColumnRoles roles, bool allow_missing)
    : TableRows(std::move(reader), nullptr, std::move(roles), allow_missing) {}

template <Real T>
TableRows<T>::TableRows(std::unique_ptr<TableReader> reader, std::unique_ptr<TableReader> targets, ColumnRoles roles,
                        bool allow_missing)
    : reader_(std::move(reader)),
      target_reader_(std::move(targets)),
      roles_(std::move(roles)),
      allow_missing_(allow_missing) {
  if (target_reader_) {
    roles_.targets.resize(target_reader_->columns().size());
    std::iota(roles_.targets.begin(), roles_.targets.end(), Index{0});
    const auto rows = reader_->rows(), target_rows = target_reader_->rows();
    require(!rows || !target_rows || *rows == *target_rows, "{} has {} rows, {} has {}", target_reader_->path(),
            target_rows.value_or(0), reader_->path(), rows.value_or(0));
  }
  const auto check = [](const std::vector<Index>& chosen, const TableReader& from) {
    const auto width = static_cast<Index>(from.columns().size());
    for (Index j : chosen) require(j >= 0 && j < width, "{}: there is no column {} of {}", from.path(), j + 1, width);
  };
  require(!roles_.inputs.empty(), "{}: no column is an input", reader_->path());
  check(roles_.inputs, *reader_);
  check(roles_.targets, target_reader_ ? *target_reader_ : *reader_);
}

template <Real T>
std::optional<Index> TableRows<T>::rows() const {
  if (counted_) return counted_;
  return reader_->rows() || !target_reader_ ? reader_->rows() : target_reader_->rows();
}

template <Real T>
void TableRows<T>::rewind() {
  reader_->rewind();
  if (target_reader_) target_reader_->rewind();
  first_ = seen_ = part_ = 0;
}

// The chosen columns of the part last read, checked, as consecutive rows at `to`.
template <Real T>
void TableRows<T>::take(const TableReader& from, const Matrix<double>& cells, Index count,
                        const std::vector<Index>& columns, bool missing_passes, T* to) const {
  for (Index i = 0; i < count; ++i) {
    const double* row = cells.data() + i * cells.cols();
    for (Index j : columns) {
      const T value = static_cast<T>(row[j]);
      const bool passes = std::isfinite(value) || (missing_passes && std::isnan(value));
      if (!passes) [[unlikely]] {
        fail_value<T>(row[j], &columns == &roles_.targets, from.place(i),
                      from.columns()[static_cast<std::size_t>(j)].name);
      }
      *to++ = value;
    }
  }
}

// Reads up to max_rows rows behind the first `filled` ones of the block; X_ and Y_ grow as needed.
template <Real T>
Index TableRows<T>::read_part(Index filled, Index max_rows) {
  const auto width = static_cast<Index>(reader_->columns().size());
  const Index capacity = std::min(max_rows, std::max<Index>(1, part_cells / width));
  if (cells_.rows() != capacity || cells_.cols() != width) cells_.resize(capacity, width);
  part_ = seen_;
  const Index count = reader_->read(cells_);
  if (filled + count > X_.rows()) {
    const Index grown = std::max(filled + count, std::min(filled + max_rows, 2 * X_.rows()));
    X_.conservativeResize(grown, dim_in());
    Y_.conservativeResize(grown, dim_out());
  }
  take(*reader_, cells_, count, roles_.inputs, allow_missing_, X_.data() + filled * dim_in());
  if (target_reader_) {
    // One row more than there are inputs would be a longer file.
    target_cells_.resize(count < capacity ? count + 1 : count, dim_out());
    const Index found = target_reader_->read(target_cells_);
    require(found == count, "{} has {} rows than {}: it ends at row {}", target_reader_->path(),
            found < count ? "fewer" : "more", reader_->path(), seen_ + std::min(found, count));
    take(*target_reader_, target_cells_, count, roles_.targets, false, Y_.data() + filled * dim_out());
  } else {
    take(*reader_, cells_, count, roles_.targets, false, Y_.data() + filled * dim_out());
  }
  seen_ += count;
  if (count < capacity) counted_ = seen_;
  return count;
}

template <Real T>
RowBlock<T> TableRows<T>::next(Index max_rows) {
  require(max_rows > 0, "a block must have at least one row, found {}", max_rows);
  first_ = seen_;
  Index filled = 0;
  for (Index count = 1; filled < max_rows && count > 0 && counted_ != seen_; filled += count) {
    count = read_part(filled, max_rows - filled);
  }
  return {.X = X_.data(),
          .Y = roles_.targets.empty() ? nullptr : Y_.data(),
          .rows = filled,
          .dim_in = dim_in(),
          .dim_out = dim_out(),
          .x_stride = dim_in(),
          .y_stride = dim_out(),
          .first_row = first_};
}

template <Real T>
std::string TableRows<T>::place(Index row) const {
  const Index in_part = first_ + row - part_;
  if (in_part >= 0 && in_part < seen_ - part_) return reader_->place(in_part);
  return fmt::format("{}: row {}", reader_->path(), first_ + row + 1);
}

template class TableRows<float>;
template class TableRows<double>;

}  // namespace carmina
