// data/data_rows.cpp -- passes over the rows.
#include "data/data_rows.hpp"
#include "data/own_segments.hpp"

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

constexpr Index shortest_stretch = 128, longest_stretch = 1024;
constexpr Index stretch_cells = Index{1} << 17;  // of a block that must be held
constexpr Index fewest_segments = 8, most_segments = 64, usual_segment = 32768;
constexpr double unplanned_bytes = 16e6;  // what a program holds anyway
constexpr Index many_rows = Index{1} << 16, whole_chunk = 4096;

Index round_up(Index count, Index unit) { return (count + unit - 1) / unit * unit; }

template <Real T>
bool has_target(const RowBlock<T>& block, Index i) {
  const T* y = block.Y + i * block.y_stride;
  return std::any_of(y, y + block.dim_out, [](T value) { return !std::isnan(value); });
}

// A block in which rows without a target have no weight. Others are as they are, and not copied where there are none.
template <Real T>
class IgnoringBlock {
 public:
  RowBlock<T> of(RowBlock<T> block) {
    Index i = 0;
    while (i < block.rows && has_target(block, i)) ++i;
    if (i == block.rows) return block;
    weights_ = Vector<T>::Ones(block.rows);
    if (block.weights) weights_ = Eigen::Map<const Vector<T>>(block.weights, block.rows);
    Y_ = block.targets();
    for (; i < block.rows; ++i) {
      if (has_target(block, i)) continue;
      weights_[i] = 0;
      Y_.row(i).setZero();
    }
    block.Y = Y_.data();
    block.y_stride = block.dim_out;
    block.weights = weights_.data();
    return block;
  }

 private:
  Matrix<T> Y_;
  Vector<T> weights_;
};

}  // namespace

RowGrid RowGrid::of(Index rows, Index columns) {
  const Index longest = std::clamp(stretch_cells / std::max<Index>(columns, 1) / shortest_stretch * shortest_stretch,
                                   shortest_stretch, longest_stretch);
  RowGrid grid;
  grid.stretch = std::clamp(round_up((rows + 15) / 16, shortest_stretch), shortest_stretch, longest);
  const Index segments = std::clamp(rows / usual_segment, fewest_segments, most_segments);
  // In a large table whole chunks of a Gram matrix (features/moments.cpp), which shorter ones would slow down.
  const Index unit =
      rows >= many_rows ? std::max(grid.stretch, whole_chunk / grid.stretch * grid.stretch) : grid.stretch;
  grid.segment = std::max(unit, round_up((rows + segments - 1) / segments, unit));
  return grid;
}

template <Real T>
DataRows<T>::DataRows(std::vector<RowSource<T>*> parts) : parts_(std::move(parts)) {
  require(!parts_.empty(), "fit: there is no part of the rows");
  for (const RowSource<T>* part : parts_) {
    require(part->dim_in() == dim_in() && part->dim_out() == dim_out(),
            "fit: a part of the rows has {} inputs and {} targets, the first has {} and {}", part->dim_in(),
            part->dim_out(), dim_in(), dim_out());
  }
}

template <Real T>
DataRows<T>::DataRows(std::vector<RowSource<T>*> parts, const Communicator* processes, const Execution& execution)
    : DataRows(std::move(parts)) {
  if (!processes) return;
  Index own = 0;
  if (const auto known = known_rows()) {
    own = *known;
  } else {
    for_blocks("counting", execution, [&](const RowBlock<T>& block) { own += block.rows; });
  }
  segments_ = own_segments(parts_, own, *processes);
  parts_ = {segments_->rows.get()};
  processes_ = processes;
  first_row_ = segments_->first;
  own_rows_ = segments_->count;
  counted_ = segments_->total;
}

template <Real T>
DataRows<T>::~DataRows() = default;

template <Real T>
std::optional<Index> DataRows<T>::known_rows() const {
  if (counted_) return counted_;
  Index total = 0;
  for (const RowSource<T>* part : parts_) {
    const auto rows = part->rows();
    if (!rows) return std::nullopt;
    total += *rows;
  }
  return total;
}

template <Real T>
Index DataRows<T>::rows() const {
  const auto known = known_rows();
  require(known.has_value(), "fit: the number of rows is not known before they have been read once");
  return *known;
}

template <Real T>
double DataRows<T>::held_bytes(Index rows_at_once) const {
  double most = 0;
  for (const RowSource<T>* part : parts_) most = std::max(most, part->held_bytes(rows_at_once));
  return most;
}

template <Real T>
Index DataRows<T>::rows_at_once() const {
  const auto known = known_rows();
  const Index unit = known ? grid().stretch : shortest_stretch;
  return std::max(unit, at_once_ / unit * unit);
}

template <Real T>
void DataRows<T>::for_blocks(const char* phase, const Execution& execution, const Body& body) const {
  const Index step = rows_at_once(), total = known_rows().value_or(0);
  if (execution.memory_budget > 0) {
    const double held = held_bytes(total > 0 ? std::min(step, total) : step);
    const double most = std::max(static_cast<double>(execution.memory_budget), unplanned_bytes);
    require(held <= most, "{}: a block of {} rows takes {}, and the memory budget is {}", phase, step,
            format_bytes(held), format_bytes(static_cast<double>(execution.memory_budget)));
  }
  Index first = first_row_;
  IgnoringBlock<T> ignoring;
  for (RowSource<T>* part : parts_) {
    current_ = part;
    Index of_part = 0;
    part->rewind();
    for (RowBlock<T> block = part->next(step); block.rows > 0; block = part->next(step)) {
      block.first_row += first;
      of_part += block.rows;
      body(ignores_ && block.dim_out > 0 ? ignoring.of(block) : block);
      execution.checkpoint({phase, first + of_part, total});
    }
    first += of_part;
  }
  const Index end = processes_ ? first_row_ + own_rows_ : counted_.value_or(first);
  require(first == end, "fit: the rows changed while they were read: {} before, {} now", end - first_row_,
          first - first_row_);
  if (!processes_) counted_ = first;
}

template <Real T>
void DataRows<T>::for_windows(Index rows, const char* phase, const Execution& execution, const Body& body) const {
  require(!processes_, "fit: windows of rows are for one process");
  const Index d = dim_in(), p = dim_out(), n = this->rows(), size = std::min(rows, n);
  Matrix<T> X(size, d), Y(size, p);
  Vector<T> weights = Vector<T>::Ones(size);
  bool weighted = false;
  Index held = 0, first = 0;
  const auto pass_on = [&] {
    body({X.data(), p > 0 ? Y.data() : nullptr, weighted ? weights.data() : nullptr, held, d, p, d, p, first});
    first += held;
    held = 0;
  };
  for_blocks(phase, execution, [&](const RowBlock<T>& block) {
    for (Index at = 0; at < block.rows;) {
      const Index count = std::min(size - held, block.rows - at);
      X.middleRows(held, count) = block.inputs().middleRows(at, count);
      if (p > 0) Y.middleRows(held, count) = block.targets().middleRows(at, count);
      if (block.weights) {
        weights.segment(held, count) = Eigen::Map<const Vector<T>>(block.weights + at, count);
        weighted = true;
      }
      held += count;
      at += count;
      if (held == size) pass_on();
    }
  });
  if (held > 0) pass_on();
}

template <Real T>
typename DataRows<T>::Before DataRows<T>::before(const Execution& execution) const {
  if (!processes_) return {};
  if (before_) return *before_;
  Before own;
  for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    for (Index i = 0; i < block.rows; ++i) {
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
      if (w == 0) continue;
      ++own.rows;
      own.copies += weight_copies(w);
    }
  });
  Before sum;
  const std::vector<Before> all = processes_->gather(std::vector<Before>{own});
  for (int k = 0; k < processes_->rank(); ++k) {
    sum.rows += all[static_cast<std::size_t>(k)].rows;
    sum.copies += all[static_cast<std::size_t>(k)].copies;
  }
  before_ = sum;
  return sum;
}

template <Real T>
HeldRows<T> DataRows<T>::gather(const Take& take, const Execution& execution, Index expected) const {
  const Index d = dim_in(), p = dim_out(), first = processes_ ? 0 : expected;
  HeldRows<T> held{Matrix<T>(first, d), Matrix<T>(first, p), {}, {}};
  std::vector<T> weights;
  bool weighted = false;
  Index count = 0;
  const auto resize = [&](Index rows) {
    held.X.conservativeResize(rows, d);
    held.Y.conservativeResize(rows, p);
  };
  for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    for (Index i = 0; i < block.rows; ++i) {
      const T w =
          static_cast<T>(take(block.first_row + i, block.weights ? static_cast<double>(block.weights[i]) : 1.0));
      if (w == 0) continue;
      if (count == held.X.rows()) resize(std::max<Index>(1024, 2 * count));
      held.X.row(count) = block.inputs().row(i);
      if (p > 0) held.Y.row(count) = block.targets().row(i);
      weights.push_back(w);
      weighted = weighted || w != 1;
      held.numbers.push_back(block.first_row + i);
      ++count;
    }
  });
  if (count != held.X.rows()) resize(count);
  if (weighted || processes_) held.weights = Eigen::Map<const Vector<T>>(weights.data(), count);
  return processes_ ? of_all_processes(std::move(held)) : held;
}

template <Real T>
HeldRows<T> DataRows<T>::gather_numbers(const std::vector<Index>& numbers, bool weighted,
                                        const Execution& execution) const {
  const auto most = static_cast<Index>(numbers.size());
  HeldRows<T> held{Matrix<T>(most, dim_in()), Matrix<T>(most, dim_out()), Vector<T>(most), {}};
  Index count = 0;
  for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    auto at = std::lower_bound(numbers.begin(), numbers.end(), block.first_row);
    for (; at != numbers.end() && *at < block.first_row + block.rows; ++at) {
      const Index i = *at - block.first_row;
      const T w = block.weights ? block.weights[i] : T(1);
      if (weighted && w == 0) continue;
      held.X.row(count) = block.inputs().row(i);
      if (dim_out() > 0) held.Y.row(count) = block.targets().row(i);
      held.weights[count++] = w;
      held.numbers.push_back(*at);
    }
  });
  held.X.conservativeResize(count, dim_in());
  held.Y.conservativeResize(count, dim_out());
  held.weights.conservativeResize(count);
  if (processes_) return of_all_processes(std::move(held));
  if ((held.weights.array() == 1).all()) held.weights.resize(0);
  return held;
}

template <Real T>
HeldRows<T> DataRows<T>::of_all_processes(HeldRows<T> own) const {
  const auto joined = [&]<class V>(const V* values, Index count) {
    return processes_->gather(std::vector<V>(values, values + count));
  };
  HeldRows<T> all;
  all.numbers = processes_->gather(own.numbers);
  const auto count = static_cast<Index>(all.numbers.size());
  const std::vector<T> X = joined(own.X.data(), own.X.size()), Y = joined(own.Y.data(), own.Y.size()),
                       weights = joined(own.weights.data(), own.weights.size());
  all.X = Eigen::Map<const Matrix<T>>(X.data(), count, dim_in());
  all.Y = Eigen::Map<const Matrix<T>>(Y.data(), count, dim_out());
  all.weights = Eigen::Map<const Vector<T>>(weights.data(), count);
  if ((all.weights.array() == 1).all()) all.weights.resize(0);
  return all;
}

template <Real T>
HeldRows<T> DataRows<T>::gather(const std::vector<Index>& among_weighted, const Execution& execution) const {
  Index number = before(execution).rows;
  auto wanted = std::lower_bound(among_weighted.begin(), among_weighted.end(), number);
  HeldRows<T> held = gather(
      [&](Index, double weight) {
        if (weight == 0) return 0.0;
        const bool taken = wanted != among_weighted.end() && *wanted == number;
        wanted += taken ? 1 : 0;
        ++number;
        return taken ? weight : 0.0;
      },
      execution, static_cast<Index>(among_weighted.size()));
  require(held.rows() == static_cast<Index>(among_weighted.size()), "fit: the rows changed while they were read");
  return held;
}

template <Real T>
void RowRange<T>::rewind() {
  rows_.rewind();
  for (Index skipped = 0; skipped < first_;) {
    const Index count = rows_.next(std::min<Index>(first_ - skipped, Index{1} << 16)).rows;
    require(count > 0, "fit: a part begins at row {}, there are {}", first_ + 1, skipped);
    skipped += count;
  }
  at_ = 0;
}

template <Real T>
RowBlock<T> RowRange<T>::next(Index max_rows) {
  if (at_ == count_) return {};
  RowBlock<T> block = rows_.next(std::min(max_rows, count_ - at_));
  block.first_row = at_;
  at_ += block.rows;
  return block;
}

template <Real T>
std::vector<RowRange<T>> divide_rows(RowSource<T>& rows, Index parts) {
  require(parts >= 1 && rows.rows().has_value(), "rows are divided into at least 1 part once their number is known");
  const Index n = *rows.rows(), segment = RowGrid::of(n, rows.dim_in() + rows.dim_out()).segment;
  const Index segments = (n + segment - 1) / segment;
  std::vector<RowRange<T>> ranges;
  for (Index k = 0; k < parts; ++k) {
    const Index first = std::min(n, k * segments / parts * segment),
                last = std::min(n, (k + 1) * segments / parts * segment);
    ranges.emplace_back(rows, first, last - first);
  }
  return ranges;
}

#define CARMINA_INSTANTIATE(T) \
  template class DataRows<T>;  \
  template class RowRange<T>;  \
  template std::vector<RowRange<T>> divide_rows(RowSource<T>&, Index);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
