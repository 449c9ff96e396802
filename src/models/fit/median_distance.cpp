// models/fit/median_distance.cpp -- the median distance between rows, with a list of all pairs or in little memory.
#include "models/fit/summary.hpp"
#include "models/plan/memory_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace carmina {
namespace {

// Order statistics of the squared distances between rows without a list of them: the pairs are counted by sixteen bits
// of their distance at a time, the highest first. (The bits of numbers that are not negative are ordered as they are.)
class CountedPairs {
 public:
  CountedPairs(const Matrix<double>& rows, const std::vector<double>& weights) : rows_(rows), weights_(weights) {}

  // The smallest square at which the weights of the pairs up to it reach `target`; perhaps only of those that are not
  // zero, each counted once.
  double reach(double target, bool positive_once) const {
    std::uint64_t prefix = 0;
    double below = 0;
    std::vector<double> bins(1 << 16);
    for (int shift = 48; shift >= 0; shift -= 16) {
      std::fill(bins.begin(), bins.end(), 0.0);
      const auto add = [&](double square, double weight) {
        const auto bits = std::bit_cast<std::uint64_t>(square);
        if (shift == 48 || bits >> (shift + 16) == prefix) bins[(bits >> shift) & 0xffff] += weight;
      };
      for_pairs(positive_once, add);
      std::size_t bin = 0;
      while (bin + 1 < bins.size() && below + bins[bin] < target) below += bins[bin++];
      prefix = prefix << 16 | bin;
    }
    return std::bit_cast<double>(prefix);
  }
  double total(bool positive_once) const {
    double sum = 0;
    for_pairs(positive_once, [&](double, double weight) { sum += weight; });
    return sum;
  }

 private:
  template <class F>
  void for_pairs(bool positive_once, F f) const {
    for (Index i = 0; i < rows_.rows(); ++i) {
      const double w = weights_[static_cast<std::size_t>(i)];
      if (!positive_once) f(0.0, std::max(0.0, w * (w - 1) / 2));
      for (Index j = 0; j < i; ++j) {
        const double square = (rows_.row(i) - rows_.row(j)).squaredNorm();
        if (!positive_once) f(square, w * weights_[static_cast<std::size_t>(j)]);
        if (positive_once && square > 0) f(square, 1.0);
      }
    }
  }

  const Matrix<double>& rows_;
  const std::vector<double>& weights_;
};

double median_in_little_memory(const Matrix<double>& rows, const std::vector<double>& weights, bool weighted) {
  const CountedPairs pairs(rows, weights);
  const double total = pairs.total(false);
  double median = 0;
  if (weighted) {
    median = std::sqrt(pairs.reach(total / 2, false));
  } else if (total > 0) {
    const double half = std::floor(total / 2);
    median = std::sqrt(pairs.reach(half + 1, false));
    if (2 * half == total) median = (median + std::sqrt(pairs.reach(half, false))) / 2;
  }
  if (median > 0) return median;
  const double positive = pairs.total(true);
  return positive > 0 ? std::sqrt(pairs.reach(std::floor(positive / 2) + 1, true)) : 1;
}

}  // namespace

double median_distance(const Matrix<double>& rows, const std::vector<double>& weights, const Execution& execution) {
  const Index n = rows.rows();
  const bool weighted = !std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1; });
  const double listed = static_cast<double>(n) * static_cast<double>(n) / 2 * (weighted ? 40 : 8);
  if (listed > memory_limit(execution) / 4) return median_in_little_memory(rows, weights, weighted);
  std::vector<double> squares(static_cast<std::size_t>(n * (n - 1) / 2));
  parallel_for(n, execution.thread_count(), [&](Index i, int) {
    double* out = squares.data() + i * (i - 1) / 2;
    for (Index j = 0; j < i; ++j) out[j] = (rows.row(i) - rows.row(j)).squaredNorm();
  });
  double median = 0;
  if (!weighted) {
    if (squares.empty()) return 1;
    const auto middle = squares.begin() + static_cast<std::ptrdiff_t>(squares.size() / 2);
    std::nth_element(squares.begin(), middle, squares.end());
    median = std::sqrt(*middle);
    if (squares.size() % 2 == 0) median = (median + std::sqrt(*std::max_element(squares.begin(), middle))) / 2;
  } else {
    // A row of weight w gives w (w - 1) / 2 pairs with itself, at distance zero.
    std::vector<std::pair<double, double>> pairs;
    double total = 0;
    for (Index i = 0; i < n; ++i) {
      const double w = weights[static_cast<std::size_t>(i)];
      pairs.emplace_back(0.0, std::max(0.0, w * (w - 1) / 2));
      for (Index j = 0; j < i; ++j) {
        pairs.emplace_back(squares[static_cast<std::size_t>(i * (i - 1) / 2 + j)],
                           w * weights[static_cast<std::size_t>(j)]);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [square, w] : pairs) total += w;
    double below = 0;
    for (const auto& [square, w] : pairs) {
      below += w;
      if (below >= total / 2) {
        median = std::sqrt(square);
        break;
      }
    }
  }
  if (median > 0) return median;
  // Half of the pairs or more coincide: the median of the others is still a scale of the data.
  std::erase(squares, 0.0);
  if (squares.empty()) return 1;
  const auto middle = squares.begin() + static_cast<std::ptrdiff_t>(squares.size() / 2);
  std::nth_element(squares.begin(), middle, squares.end());
  return std::sqrt(*middle);
}

}  // namespace carmina
