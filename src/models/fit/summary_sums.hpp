// models/fit/summary_sums.hpp -- what the first pass adds up, in pieces of the rows that threads take: the sums of a
// piece are added in the order of the rows.
#pragma once
#include "data/data_rows.hpp"
#include "models/fit/summary.hpp"

#include <carmina/random/philox.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace carmina {

// Keeps the rows with the smallest random keys: a uniform sample, in one pass, of rows whose number is not known. A row
// of integer weight w stands for w copies, each with a key of its own, so that weights and repetitions give samples of
// the same distribution, and the same sample while all copies have room. Keys are exponential, a function of the row's
// number in the whole source: the sample does not depend on how rows are divided into blocks, and samples of parts
// could be united by keeping the smallest keys of both.
//
// The keys of a row's copies are made in ascending order without the others [Renyi1953]: the j-th smallest of w
// exponential variables exceeds the one before by E_j / (w - j + 1), with E_j exponential too. The first that is too
// large ends the row, whatever its weight.
class RowSample {
 public:
  // Whether offering a row would change nothing; asked by several threads between offers.
  bool refuses(Index number, double weight) const {
    if (kept_.size() < sample_size) return false;
    return first_key(number, weight == std::floor(weight) ? weight : 1) >= kept_.front().key;
  }

  template <class Row>
  void offer(const Row& row, Index number, double weight) {
    const bool whole = weight == std::floor(weight);
    const double copies = whole ? weight : 1;
    double key = 0;
    for (std::uint32_t j = 0; j < copies; ++j) {
      key -= std::log1p(-random_.uniform(static_cast<std::uint64_t>(number), j)) / (copies - j);
      if (kept_.size() == sample_size) {
        if (key >= kept_.front().key) return;
        std::pop_heap(kept_.begin(), kept_.end());
        kept_.pop_back();
      }
      kept_.push_back({key, whole ? 1.0 : weight, row.template cast<double>()});
      std::push_heap(kept_.begin(), kept_.end());
    }
  }
  void move_to(DataSummary& summary, Index d) {
    std::sort(kept_.begin(), kept_.end());
    summary.sample.resize(static_cast<Index>(kept_.size()), d);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      summary.sample.row(static_cast<Index>(i)) = kept_[i].row;
      summary.sample_weights.push_back(kept_[i].weight);
    }
  }

 private:
  static constexpr auto sample_size = static_cast<std::size_t>(summary_sample_rows);

  // The smallest key of the copies of a row.
  double first_key(Index number, double copies) const {
    return -std::log1p(-random_.uniform(static_cast<std::uint64_t>(number), 0)) / copies;
  }

  struct Kept {
    double key;
    double weight;
    Eigen::RowVectorXd row;
    bool operator<(const Kept& other) const { return key < other.key; }
  };
  Random random_{0, Stream::rows};
  std::vector<Kept> kept_;
};

// Weighted sums of x - first and its square per column, the missing left out.
struct ColumnSums {
  Vector<double> first, weight, sum, square;

  // Zero, about the same numbers.
  void start(const Vector<double>& about) {
    first = about;
    weight = sum = square = Vector<double>::Zero(about.size());
  }
  template <class Row>
  void add(const Row& row, double w) {
    for (Index j = 0; j < row.size(); ++j) {
      const auto x = static_cast<double>(row[j]);
      const bool there = x == x;
      const double offset = there ? x - first[j] : 0, share = there ? w : 0;
      weight[j] += share;
      sum[j] += share * offset;
      square[j] += share * offset * offset;
    }
  }
  // Of other rows, about the same numbers.
  void add(const ColumnSums& more) {
    weight += more.weight;
    sum += more.sum;
    square += more.square;
  }
  double mean(Index j) const { return weight[j] > 0 ? first[j] + sum[j] / weight[j] : 0.0; }
  // Squared deviations from the column's mean.
  double scatter(Index j) const {
    if (!std::isfinite(square[j])) return square[j];  // of numbers that are too large; the largest of 0 and NaN is 0
    return weight[j] > 0 ? std::max(0.0, square[j] - sum[j] * sum[j] / weight[j]) : 0.0;
  }
};

// Of consecutive rows.
struct PieceSums {
  static constexpr Index longest = 128;  // rows; pieces begin at its multiples

  ColumnSums inputs, targets;
  Index rows = 0, without_target = 0;  // of positive weight
  double copies = 0, weight = 0;
  bool wrong = false;           // a cell or a weight is what none may be
  bool lacking = false;         // a row has some of its targets
  std::vector<Index> to_offer;  // places of rows that a sample may take
};

// Whether all cells are numbers, or NaN where that is allowed; which one is not is for check_row().
template <Real T>
bool plausible_row(const RowBlock<T>& block, Index i, bool fill_missing) {
  const T *x = block.X + i * block.x_stride, *y = block.Y + i * block.y_stride;
  bool good = !block.weights || (block.weights[i] >= 0 && std::isfinite(block.weights[i]));
  for (Index j = 0; j < block.dim_in; ++j) good &= std::isfinite(x[j]) || (fill_missing && std::isnan(x[j]));
  for (Index j = 0; j < block.dim_out; ++j) good &= !std::isinf(y[j]);
  return good;
}

}  // namespace carmina
