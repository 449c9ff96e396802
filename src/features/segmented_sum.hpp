// features/segmented_sum.hpp -- sums over rows in the order of RowGrid.
#pragma once
#include "data/data_rows.hpp"

#include <algorithm>
#include <vector>

namespace carmina {

// Sums of stretches under way at once, each of so many bytes: so many that threads seldom wait for each other. They are
// added in the order of the rows, so that their number changes no result.
inline Index sums_under_way(double bytes) {
  constexpr double allowed = 32e6;
  return static_cast<Index>(std::clamp(allowed / bytes, 16.0, 256.0));
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

// A sum of several matrices: the closed segments, and the one that is open.
class SegmentedSum {
 public:
  // Zero matrices of these shapes.
  explicit SegmentedSum(const std::vector<std::pair<Index, Index>>& shapes) {
    for (const auto& [rows, columns] : shapes) open_.push_back(Matrix<double>::Zero(rows, columns));
    total_ = open_;
  }

  std::vector<Matrix<double>>& open() { return open_; }
  std::vector<Matrix<double>>& total() { return total_; }
  void close() {
    for (std::size_t i = 0; i < open_.size(); ++i) {
      total_[i] += open_[i];
      open_[i].setZero();
    }
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
  std::vector<Matrix<double>> open_, total_;
};

}  // namespace carmina
