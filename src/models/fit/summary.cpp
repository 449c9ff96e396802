// models/fit/summary.cpp -- sums of the first pass, in double and in the order of the rows.
#include "models/fit/summary.hpp"
#include "models/fit/missing_targets.hpp"
#include "models/fit/sampled_rows.hpp"
#include "models/plan/memory_plan.hpp"

#include <carmina/core/error.hpp>
#include <carmina/random/philox.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

namespace carmina {
namespace {

constexpr auto sample_size = static_cast<std::size_t>(summary_sample_rows);

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
  Vector<double> first, weight, sum, square, farthest;  // the last: of |x - first|

  template <class Row>
  void add(const Row& row, double w) {
    const Index d = row.size();
    if (first.size() == 0) {
      first = Vector<double>::Constant(d, std::nan(""));
      weight = sum = square = farthest = Vector<double>::Zero(d);
    }
    for (Index j = 0; j < d; ++j) {
      const auto x = static_cast<double>(row[j]);
      if (x != x) continue;
      if (first[j] != first[j]) first[j] = x;
      const double offset = x - first[j];
      farthest[j] = std::max(farthest[j], std::abs(offset));
      weight[j] += w;
      sum[j] += w * offset;
      square[j] += w * offset * offset;
    }
  }
  double mean(Index j) const { return weight[j] > 0 ? first[j] + sum[j] / weight[j] : 0.0; }
  // Squared deviations from the column's mean.
  double scatter(Index j) const {
    if (!std::isfinite(square[j])) return square[j];  // of numbers that are too large; the largest of 0 and NaN is 0
    return weight[j] > 0 ? std::max(0.0, square[j] - sum[j] * sum[j] / weight[j]) : 0.0;
  }
};

void require_values(bool any, const char* what, Index column, const std::vector<std::string>& names) {
  const auto j = static_cast<std::size_t>(column);
  require(any, "fit: {} column {}{} has no values: every row has NaN there; leave the column out", what, column + 1,
          j < names.size() ? format_text(" ('{}')", names[j]) : "");
}

}  // namespace

template <Real T>
void check_row(const DataRows<T>& rows, const RowBlock<T>& block, Index i, const RowGaps& gaps) {
  const T* x = block.X + i * block.x_stride;
  for (Index j = 0; j < block.dim_in; ++j) {
    if (std::isfinite(x[j])) continue;
    if (std::isinf(x[j])) fail("{}: input column {} is infinite", rows.place(i), j + 1);
    if (!gaps.inputs) fail("{}: input column {} is NaN; {}", rows.place(i), j + 1, gaps.input_advice);
  }
  const T* y = block.Y + i * block.y_stride;
  for (Index j = 0; j < block.dim_out; ++j) {
    if (std::isfinite(y[j]) || (gaps.targets && std::isnan(y[j]))) continue;
    fail("{}: target column {} is {}", rows.place(i), j + 1, gaps.targets ? "infinite" : "NaN or infinite");
  }
  if (block.weights && !(block.weights[i] >= 0 && std::isfinite(block.weights[i]))) {
    fail("{}: a weight must be finite and not negative, found {}", rows.place(i), block.weights[i]);
  }
}
template void check_row(const DataRows<float>&, const RowBlock<float>&, Index, const RowGaps&);
template void check_row(const DataRows<double>&, const RowBlock<double>&, Index, const RowGaps&);

template <Real T>
DataSummary summarize(const DataRows<T>& rows, bool fill_missing, bool want_covariance, const Execution& execution,
                      bool want_sample, const Loss* loss, const std::vector<std::string>& names) {
  const Index d = rows.dim_in(), p = rows.dim_out();
  require(d > 0, "fit: X has no columns");
  rows.ignore_rows_without_target(false);
  DataSummary summary;
  RowSample sample;
  ColumnSums inputs, targets;
  MissingTargets missing(p);
  bool some_missing = false;
  Vector<double> target_row;
  Matrix<double> products = Matrix<double>::Zero(want_covariance ? p : 0, want_covariance ? p : 0);
  PairSums pairs(want_covariance ? p : 0);
  rows.for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    const auto X = block.inputs();
    const auto Y = block.targets();
    for (Index i = 0; i < block.rows; ++i) {
      check_row(rows, block, i, {.inputs = fill_missing, .targets = true});
      const Index lacking = Y.row(i).array().isNaN().count();
      if (loss) {
        target_row = Y.row(i).transpose().template cast<double>();
        check_targets(*loss, target_row.data(), p, [&] { return "fit: " + rows.place(i); });
      }
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
      if (w == 0) continue;
      if (lacking == p && p > 0) {
        ++summary.without_target;
        continue;
      }
      ++summary.rows;
      summary.copies += weight_copies(w);
      summary.weight += w;
      inputs.add(X.row(i), w);
      targets.add(Y.row(i), w);
      if (lacking > 0) missing.add(Y.row(i), block.first_row + i, weight_copies(w));
      some_missing = some_missing || lacking > 0;
      if (want_sample) sample.offer(X.row(i), block.first_row + i, w);
      if (want_covariance) {
        const Vector<double> offset = Y.row(i).transpose().template cast<double>() - targets.first;
        if (!some_missing) products.noalias() += w * offset * offset.transpose();
        pairs.add(offset, w);
      }
    }
  });
  require(summary.rows > 0 || summary.without_target == 0,
          "fit: no row has a target: all {} rows with a positive weight have NaN for every output",
          summary.without_target);
  require(summary.rows > 0, "fit: there are no rows with a positive weight");
  summary.patterns = missing.patterns(summary.rows, summary.copies);
  for (const TargetPattern& pattern : summary.patterns) {
    require_values(pattern.rows > 0, "target", pattern.columns[0], names);
  }
  check_total_weight(summary.weight);
  rows.ignore_rows_without_target(summary.without_target > 0);
  rows.take_missing_targets(summary.has_missing_targets());
  summary.input_mean = Vector<double>::NullaryExpr(d, [&](Index j) { return inputs.mean(j); });
  summary.input_weight = inputs.weight;
  summary.input_deviation =
      Vector<double>::NullaryExpr(d, [&](Index j) { return std::sqrt(inputs.scatter(j) / summary.weight); });
  summary.target_mean = Vector<double>::NullaryExpr(p, [&](Index j) { return targets.mean(j); });
  summary.target_weight = targets.weight;
  summary.target_reach = 2 * targets.farthest;
  if (want_covariance) {
    require(summary.weight > 1, "fit: the covariance of the targets needs at least 2 rows");
    products -= targets.sum * targets.sum.transpose() / summary.weight;
    summary.target_covariance = some_missing ? pairs.covariance() : Matrix<double>(products / (summary.weight - 1));
  }
  sample.move_to(summary, d);
  return summary;
}

void check_input_values(const DataSummary& summary, const std::vector<std::string>& names) {
  for (Index j = 0; j < summary.input_weight.size(); ++j) {
    require_values(summary.input_weight[j] > 0, "input", j, names);
  }
}

void check_total_weight(double weight) {
  require(std::isfinite(weight), "fit: the weights of the rows add up to infinity; divide all of them by one number");
}

void count_without_target(Index rows, SolveReport& report) {
  if (rows == 0) return;
  report.message +=
      format_text("{}{} {}", report.message.empty() ? "" : "; ", rows,
                  rows == 1 ? "row has no target and was ignored" : "rows have no target and were ignored");
}

#define CARMINA_INSTANTIATE(T)                                                                        \
  template DataSummary summarize(const DataRows<T>&, bool, bool, const Execution&, bool, const Loss*, \
                                 const std::vector<std::string>&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

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
