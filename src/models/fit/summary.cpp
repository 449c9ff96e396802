// models/fit/summary.cpp -- sums of the first pass, in double and in the order of the rows.
#include "models/fit/summary.hpp"
#include "models/fit/missing_targets.hpp"
#include "models/fit/sampled_rows.hpp"
#include "models/fit/summary_sums.hpp"
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

namespace {

// The first number of each column that has none yet, among rows that count.
template <class Cells, class Counts>
void find_first(const Cells& cells, const Counts& counts, Vector<double>& first) {
  for (Index i = 0; i < cells.rows() && first.hasNaN(); ++i) {
    if (!counts(i)) continue;
    for (Index j = 0; j < first.size(); ++j) {
      if (std::isnan(first[j])) first[j] = static_cast<double>(cells(i, j));
    }
  }
}

// Rows [begin, end) of a block; `sample` null: none is wanted.
template <Real T>
void add_piece(const RowBlock<T>& block, Index begin, Index end, bool fill_missing, const RowSample* sample,
               const Vector<double>& first_inputs, const Vector<double>& first_targets, PieceSums& piece) {
  const auto X = block.inputs();
  const auto Y = block.targets();
  piece.inputs.start(first_inputs);
  piece.targets.start(first_targets);
  piece.rows = piece.without_target = 0;
  piece.copies = piece.weight = 0;
  piece.wrong = piece.lacking = false;
  piece.to_offer.clear();
  for (Index i = begin; i < end; ++i) {
    if (!plausible_row(block, i, fill_missing)) {
      piece.wrong = true;
      return;
    }
    const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
    if (w == 0) continue;
    const Index lacking = Y.row(i).array().isNaN().count();
    if (lacking == block.dim_out && lacking > 0) {
      ++piece.without_target;
      continue;
    }
    ++piece.rows;
    piece.copies += weight_copies(w);
    piece.weight += w;
    piece.inputs.add(X.row(i), w);
    piece.targets.add(Y.row(i), w);
    piece.lacking = piece.lacking || lacking > 0;
    if (sample && !sample->refuses(block.first_row + i, w)) piece.to_offer.push_back(i);
  }
}

}  // namespace

template <Real T>
DataSummary summarize(const DataRows<T>& rows, bool fill_missing, bool want_covariance, const Execution& execution,
                      bool want_sample, const Loss* loss, const std::vector<std::string>& names) {
  const Index d = rows.dim_in(), p = rows.dim_out();
  require(d > 0, "fit: X has no columns");
  rows.ignore_rows_without_target(false);
  DataSummary summary;
  RowSample sample;
  ColumnSums inputs, targets;
  inputs.start(Vector<double>::Constant(d, std::nan("")));
  targets.start(Vector<double>::Constant(p, std::nan("")));
  MissingTargets missing(p);
  bool some_missing = false;
  Vector<double> target_row;
  Matrix<double> products = Matrix<double>::Zero(want_covariance ? p : 0, want_covariance ? p : 0);
  PairSums pairs(want_covariance ? p : 0);
  std::vector<PieceSums> pieces;
  rows.for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    const auto X = block.inputs();
    const auto Y = block.targets();
    const auto weight_of = [&](Index i) { return block.weights ? static_cast<double>(block.weights[i]) : 1.0; };
    const auto lacking = [&](Index i) { return Y.row(i).array().isNaN().count(); };
    const auto counts = [&](Index i) { return weight_of(i) > 0 && (p == 0 || lacking(i) < p); };
    find_first(X, counts, inputs.first);
    find_first(Y, counts, targets.first);
    // Pieces end at multiples of their length among all rows.
    const Index before = block.first_row % PieceSums::longest;
    const Index count = (before + block.rows + PieceSums::longest - 1) / PieceSums::longest;
    pieces.resize(static_cast<std::size_t>(count));
    constexpr Index together = 32;
    parallel_for((count + together - 1) / together, execution.thread_count(), [&](Index task, int) {
      for (Index k = task * together; k < std::min(count, (task + 1) * together); ++k) {
        PieceSums& piece = pieces[static_cast<std::size_t>(k)];
        const Index begin = std::max<Index>(0, k * PieceSums::longest - before);
        add_piece(block, begin, std::min(block.rows, (k + 1) * PieceSums::longest - before), fill_missing,
                  want_sample ? &sample : nullptr, inputs.first, targets.first, piece);
      }
    });
    bool wrong = false, some_lack = false;
    for (const PieceSums& piece : pieces) wrong = wrong || piece.wrong, some_lack = some_lack || piece.lacking;
    // What takes a row after the other: the first that is wrong, targets that a loss does not take, those that lack.
    for (Index i = 0; (wrong || loss || some_lack || want_covariance) && i < block.rows; ++i) {
      if (wrong) check_row(rows, block, i, {.inputs = fill_missing, .targets = true});
      if (loss) {
        target_row = Y.row(i).transpose().template cast<double>();
        check_targets(*loss, target_row.data(), p, [&] { return "fit: " + rows.place(i); });
      }
      if (!counts(i)) continue;
      const double w = weight_of(i);
      if (lacking(i) > 0) missing.add(Y.row(i), block.first_row + i, weight_copies(w)), some_missing = true;
      if (!want_covariance) continue;
      const Vector<double> offset = Y.row(i).transpose().template cast<double>() - targets.first;
      if (!some_missing) products.noalias() += w * offset * offset.transpose();
      pairs.add(offset, w);
    }
    for (const PieceSums& piece : pieces) {
      summary.rows += piece.rows;
      summary.without_target += piece.without_target;
      summary.copies += piece.copies;
      summary.weight += piece.weight;
      inputs.add(piece.inputs);
      targets.add(piece.targets);
      for (const Index i : piece.to_offer) sample.offer(X.row(i), block.first_row + i, weight_of(i));
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
