// data/rows.cpp -- the rows of a file as blocks of inputs and targets, every cell checked.
#include "data/cells.hpp"

#include <carmina/data/rows.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numeric>

namespace carmina {

namespace {

// Cells that are read at once before they become inputs and targets: they stay in cache, and a block of any size needs
// no more.
constexpr Index part_cells = Index{1} << 15;

// A block of up to so many cells is allocated at once; a larger one grows with what is read, since a file may be
// shorter than it says.
constexpr Index cells_at_first = Index{1} << 20;

// Neither infinite nor NaN, by the bits of the exponent: a loop that compilers turn into vector instructions.
template <Real T>
bool all_finite(const T* values, Index count) {
  using Bits = std::conditional_t<std::same_as<T, float>, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits bad = 0;
  for (Index k = 0; k < count; ++k) bad |= static_cast<Bits>((std::bit_cast<Bits>(values[k]) & exponent) == exponent);
  return bad == 0;
}

template <Real T>
[[noreturn]] void fail_value(double value, const std::string& place, const std::string& column) {
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
  input_runs_ = runs_of(roles_.inputs);
  target_runs_ = runs_of(roles_.targets);
  floats_ = std::same_as<T, float> && reader_->fits_float();
}

template <Real T>
std::vector<typename TableRows<T>::Run> TableRows<T>::runs_of(const std::vector<Index>& columns) {
  std::vector<Run> runs;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (k > 0 && columns[k] == columns[k - 1] + 1) {
      ++runs.back().count;
    } else {
      runs.push_back({columns[k], static_cast<Index>(k), 1});
    }
  }
  return runs;
}

template <Real T>
Index TableRows<T>::part_rows() const {
  return std::max<Index>(1, part_cells / static_cast<Index>(reader_->columns().size()));
}

template <Real T>
double TableRows<T>::held_bytes(Index rows_at_once) const {
  const auto rows = static_cast<double>(rows_at_once);
  const auto width = static_cast<double>(reader_->columns().size() + (target_reader_ ? roles_.targets.size() : 0));
  const double row = static_cast<double>(sizeof(T)) * static_cast<double>(dim_in() + dim_out()) + sizeof(Index);
  return rows * row + std::min(rows, static_cast<double>(part_rows())) * width * 8;
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
  seen_ = 0;
}

// The chosen columns of the part last read, checked, as consecutive rows at `to`.
template <Real T>
template <class Cell>
void TableRows<T>::take(const TableReader& from, const Matrix<Cell>& cells, Index count, const std::vector<Run>& runs,
                        bool missing_passes, T* to) const {
  const Index width = runs.empty() ? 0 : runs.back().to + runs.back().count;
  for (Index i = 0; i < count; ++i, to += width) {
    const Cell* row = cells.data() + i * cells.cols();
    for (const Run& run : runs) {
      for (Index k = 0; k < run.count; ++k) to[run.to + k] = static_cast<T>(row[run.from + k]);
    }
    if (all_finite(to, width)) [[likely]]
      continue;
    for (const Run& run : runs) {
      for (Index k = 0; k < run.count; ++k) {
        const T value = to[run.to + k];
        if (std::isfinite(value) || (missing_passes && std::isnan(value))) continue;
        fail_value<T>(static_cast<double>(row[run.from + k]), from.place(i),
                      from.columns()[static_cast<std::size_t>(run.from + k)].name);
      }
    }
  }
}

template <Real T>
template <class Cell>
Index TableRows<T>::read_cells(TableReader& from, Index capacity, Matrix<Cell>& cells) {
  const auto width = static_cast<Index>(from.columns().size());
  if (cells.rows() != capacity || cells.cols() != width) cells.resize(capacity, width);
  if constexpr (std::same_as<Cell, float>) {
    return from.read_floats(cells);
  } else {
    return from.read(cells);
  }
}

// Reads a part of the rows that `into` still wants.
template <Real T>
template <class Cell>
Index TableRows<T>::read_part(RowBuffer<T>& into, Index wanted, Matrix<Cell>& cells) {
  const Index filled = into.rows, capacity = std::min(wanted - filled, part_rows());
  const Index count = read_cells(*reader_, capacity, cells);
  if (filled + count > into.X.rows() || into.X.cols() != dim_in()) {
    const Index at_first = cells_at_first / (dim_in() + dim_out());
    const Index grown = std::max(filled + count, std::min(wanted, std::max(at_first, 2 * into.X.rows())));
    into.X.conservativeResize(grown, dim_in());
    into.Y.conservativeResize(grown, dim_out());
    into.positions.reserve(static_cast<std::size_t>(grown));
  }
  T* const Y = into.Y.data() + filled * dim_out();
  take(*reader_, cells, count, input_runs_, allow_missing_, into.X.data() + filled * dim_in());
  if (target_reader_) {
    // One row more than there are inputs would be a longer file.
    const Index found = read_cells(*target_reader_, count < capacity ? count + 1 : count, target_cells_);
    require(found == count, "{} has {} rows than {}: it ends at row {}", target_reader_->path(),
            found < count ? "fewer" : "more", reader_->path(), seen_ + std::min(found, count));
    take(*target_reader_, target_cells_, count, target_runs_, true, Y);
  } else {
    take(*reader_, cells, count, target_runs_, true, Y);
  }
  into.positions.resize(static_cast<std::size_t>(filled));
  for (Index i = 0; i < count; ++i) into.positions.push_back(reader_->position(i));
  into.rows += count;
  seen_ += count;
  if (count < capacity) counted_ = seen_;
  return count;
}

template <Real T>
void TableRows<T>::read(RowBuffer<T>& into, Index wanted, const std::stop_token& stop) {
  if (into.rows == 0) into.first_row = seen_;
  for (Index count = 1; into.rows < wanted && count > 0 && !at_end() && !stop.stop_requested();) {
    if constexpr (std::same_as<T, float>) {
      count = floats_ ? read_part(into, wanted, float_cells_) : read_part(into, wanted, cells_);
    } else {
      count = read_part(into, wanted, cells_);
    }
  }
}

template <Real T>
RowBlock<T> TableRows<T>::next(Index max_rows) {
  require(max_rows > 0, "a block must have at least one row, found {}", max_rows);
  last_.rows = 0;
  read(last_, max_rows);
  return last_.block(0, last_.rows);
}

template class TableRows<float>;
template class TableRows<double>;

}  // namespace carmina
