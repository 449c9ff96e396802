// features/segmented_sum.hpp -- sums over rows in the order of RowGrid.
#pragma once
#include "data/data_rows.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace carmina {

// Sums of stretches under way at once, each of so many bytes: so many that threads seldom wait for each other. They are
// added in the order of the rows, so that their number changes no result.
inline Index sums_under_way(double bytes) {
  constexpr double allowed = 32e6;
  return static_cast<Index>(std::clamp(allowed / bytes, 16.0, 1024.0));
}

// Rows of a block by stretches. Blocks begin at stretches.
struct Stretches {
  Index first_row, rows, stretch, segment;

  template <Real T>
  Stretches(const RowBlock<T>& block, const RowGrid& grid)
      : first_row(block.first_row), rows(block.rows), stretch(grid.stretch), segment(grid.segment) {}

  Index count() const { return (rows + stretch - 1) / stretch; }
  Index begin(Index k) const { return k * stretch; }  // in the block
  Index end(Index k) const { return std::min(rows, (k + 1) * stretch); }
  bool closes_segment(Index k) const { return (first_row + end(k)) % segment == 0; }
};

// A sum of several matrices: the closed segments, and the one that is open. Where other processes have the segments
// before these, closed ones are kept one by one until all are added in their order.
class SegmentedSum {
 public:
  // Zero matrices of these shapes.
  template <Real T>
  SegmentedSum(const DataRows<T>& rows, const std::vector<std::pair<Index, Index>>& shapes)
      : processes_(rows.processes()), apart_(rows.sums_apart()) {
    for (const auto& [height, columns] : shapes) open_.emplace_back(Matrix<double>::Zero(height, columns));
    total_ = open_;
  }

  std::vector<Matrix<double>>& open() { return open_; }
  // Where the segment that closes now is to be added.
  std::vector<Matrix<double>>& closing() {
    if (!apart_) return total_;
    std::vector<Matrix<double>> zero = open_;
    for (auto& sum : zero) sum.setZero();
    return closed_.emplace_back(std::move(zero));
  }
  void close() {
    std::vector<Matrix<double>>& into = closing();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      into[i] += open_[i];
      open_[i].setZero();
    }
  }
  // The sum of all segments, after the last block.
  std::vector<Matrix<double>>& total() {
    close();
    for (std::size_t i = 0; processes_ && i < total_.size(); ++i) {
      std::vector<const double*> parts;
      for (const auto& sums : closed_) parts.push_back(sums[i].data());
      processes_->sum_in_order(total_[i].data(), total_[i].size(), parts);
    }
    closed_.clear();
    return total_;
  }

  // Adds fill(first, last, sums) of all stretches of a block, each on one thread; sums come zeroed.
  template <Real T, class Fill>
  void add(const RowBlock<T>& block, const RowGrid& grid, const Execution& execution, const Fill& fill) {
    const Stretches stretches(block, grid);
    double bytes = 0;
    for (const auto& sum : open_) bytes += sizeof(double) * static_cast<double>(sum.size());
    const Index wave = sums_under_way(bytes);
    std::vector<std::vector<Matrix<double>>> partial(static_cast<std::size_t>(std::min(wave, stretches.count())));
    for (Index begin = 0; begin < stretches.count(); begin += wave) {
      const Index count = std::min(wave, stretches.count() - begin);
      parallel_for(count, execution.thread_count(), [&](Index task, int worker) {
        execution.poll(worker);
        auto& sums = partial[static_cast<std::size_t>(task)];
        sums = open_;
        for (auto& sum : sums) sum.setZero();
        fill(stretches.begin(begin + task), stretches.end(begin + task), sums);
      });
      for (Index k = 0; k < count; ++k) {
        for (std::size_t i = 0; i < open_.size(); ++i) open_[i] += partial[static_cast<std::size_t>(k)][i];
        if (stretches.closes_segment(begin + k)) close();
      }
    }
  }

 private:
  const Communicator* processes_;
  bool apart_;
  std::vector<Matrix<double>> open_, total_;
  std::deque<std::vector<Matrix<double>>> closed_;
};

// Sums of segments of symmetric matrices that other processes' come before: lower triangles, one after the other.
class ApartTriangles {
 public:
  explicit ApartTriangles(Index order = 0) : order_(order) {}

  // Takes the lower triangle of a matrix.
  void close(const Matrix<double>& segment) { parts_.push_back(packed(segment)); }
  // `sums` holds what comes before the first process's parts, in the first process; it becomes the sum of all.
  void add_to(Matrix<double>& sums, const Communicator& processes) {
    std::vector<double> total = packed(sums);
    std::vector<const double*> parts;
    for (const auto& part : parts_) parts.push_back(part.data());
    processes.sum_in_order(total.data(), static_cast<Index>(total.size()), parts);
    const double* from = total.data();
    for (Index i = 0; i < order_; from += ++i) std::copy_n(from, i + 1, sums.row(i).data());
    parts_.clear();
  }

 private:
  std::vector<double> packed(const Matrix<double>& matrix) const {
    std::vector<double> numbers(static_cast<std::size_t>(order_ * (order_ + 1) / 2));
    double* to = numbers.data();
    for (Index i = 0; i < order_; to += ++i) std::copy_n(matrix.row(i).data(), i + 1, to);
    return numbers;
  }

  Index order_;
  std::vector<std::vector<double>> parts_;
};

}  // namespace carmina
