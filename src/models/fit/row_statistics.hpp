// models/fit/row_statistics.hpp -- means, variances and covariances of rows whose number need not be known: those of
// runs of 128 rows, joined two by two.
//
// The order of the sums is that of a binary tree over the runs, by their numbers alone: however the rows are divided
// among blocks, parts or processes, the numbers are the same. Two runs a and b are joined by W = W_a + W_b, delta =
// mean_b - mean_a, mean = mean_a + delta W_b / W and C = C_a + C_b + delta deltaᵀ W_a W_b / W [Chan1983].
#pragma once
#include "backends/vector_math.hpp"

#include <carmina/core/communicator.hpp>
#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace carmina {

// Of the cells of each column that are there: weight, mean, weighted squares about it, the smallest and the largest.
// While a run is added up, `mean` holds the sum about the first cell.
class ColumnStatistics {
 public:
  explicit ColumnStatistics(Index columns)
      : weight(Vector<double>::Zero(columns)),
        mean(weight),
        square(weight),
        low(Vector<double>::Constant(columns, std::numeric_limits<double>::infinity())),
        high(-low),
        first_(weight) {}

  Vector<double> weight, mean, square, low, high;

  template <class Row>
  void add(const Row& row, double w) {
    for (Index j = 0; j < row.size(); ++j) {
      const auto x = static_cast<double>(row[j]);
      if (x != x) continue;
      if (weight[j] == 0) first_[j] = x;
      const double offset = x - first_[j];
      weight[j] += w;
      mean[j] += w * offset;
      square[j] += w * offset * offset;
      low[j] = std::min(low[j], x);
      high[j] = std::max(high[j], x);
    }
  }
  // The same of all rows of a run, with weight 1, whose cells are all there; false where a sum is not finite, and the
  // rows must be added one by one.
  template <class T>
  bool add_run(const T* X, Index ldx, Index rows) {
    if (weight.size() == 0) return true;
    backend::sum_columns(X, ldx, rows, weight.size(),
                         {first_.data(), mean.data(), square.data(), low.data(), high.data()});
    weight.setConstant(static_cast<double>(rows));
    return mean.allFinite() && square.allFinite();
  }
  void close() {
    for (Index j = 0; j < weight.size(); ++j) {
      if (weight[j] == 0) continue;
      // Of numbers that are too large; the largest of 0 and NaN is 0.
      if (std::isfinite(square[j])) square[j] = std::max(0.0, square[j] - mean[j] * mean[j] / weight[j]);
      mean[j] = first_[j] + mean[j] / weight[j];
    }
  }
  void join(const ColumnStatistics& other) {
    for (Index j = 0; j < weight.size(); ++j) {
      if (other.weight[j] == 0) continue;
      const double total = weight[j] + other.weight[j], share = other.weight[j] / total;
      const double delta = weight[j] > 0 ? other.mean[j] - mean[j] : 0.0;
      mean[j] = weight[j] > 0 ? mean[j] + delta * share : other.mean[j];
      square[j] += other.square[j] + delta * delta * weight[j] * share;
      weight[j] = total;
    }
    low = low.cwiseMin(other.low);
    high = high.cwiseMax(other.high);
  }
  template <class Each>
  void visit(const Each& each) {
    each(weight), each(mean), each(square), each(low), each(high);
  }

 private:
  Vector<double> first_;
};

// Covariances of columns, each pair over the rows that have both, about the means of those rows.
class PairStatistics {
 public:
  explicit PairStatistics(Index p)
      : weight(Matrix<double>::Zero(p, p)),
        mean(weight),
        product(weight),
        first_(Vector<double>::Zero(p)),
        seen_(static_cast<std::size_t>(p), 0) {}

  Matrix<double> weight, mean, product;  // (p, p); mean jk: of y_j where y_k is there too

  template <class Row>
  void add(const Row& row, double w) {
    const Index p = weight.rows();
    if (p == 0) return;
    offset_.resize(p);
    for (Index j = 0; j < p; ++j) {
      const auto y = static_cast<double>(row[j]);
      if (!std::isnan(y) && !seen_[static_cast<std::size_t>(j)]) first_[j] = y, seen_[static_cast<std::size_t>(j)] = 1;
      offset_[j] = y - first_[j];
    }
    for (Index j = 0; j < p; ++j) {
      if (std::isnan(offset_[j])) continue;
      for (Index k = 0; k < p; ++k) {
        if (std::isnan(offset_[k])) continue;
        weight(j, k) += w;
        mean(j, k) += w * offset_[j];
        product(j, k) += w * (offset_[j] * offset_[k]);
      }
    }
  }
  void close() {
    const Matrix<double> sum = mean;
    for (Index j = 0; j < weight.rows(); ++j) {
      for (Index k = 0; k < weight.cols(); ++k) {
        if (weight(j, k) == 0) continue;
        product(j, k) -= sum(j, k) * sum(k, j) / weight(j, k);
        mean(j, k) = first_[j] + sum(j, k) / weight(j, k);
      }
    }
  }
  void join(const PairStatistics& other) {
    const Matrix<double> before = mean;
    for (Index j = 0; j < weight.rows(); ++j) {
      for (Index k = 0; k < weight.cols(); ++k) {
        const double own = weight(j, k), theirs = other.weight(j, k);
        if (theirs == 0) continue;
        const double share = theirs / (own + theirs);
        product(j, k) += other.product(j, k);
        if (own > 0) {
          const double delta = other.mean(j, k) - before(j, k);
          product(j, k) += delta * (other.mean(k, j) - before(k, j)) * own * share;
          mean(j, k) = before(j, k) + delta * share;
        } else {
          mean(j, k) = other.mean(j, k);
        }
        weight(j, k) = own + theirs;
      }
    }
  }
  template <class Each>
  void visit(const Each& each) {
    each(weight), each(mean), each(product);
  }

 private:
  Vector<double> first_, offset_;
  std::vector<char> seen_;
};

// What the first pass adds up of rows.
struct RowStatistics {
  double weight = 0;
  ColumnStatistics inputs, targets;
  PairStatistics pairs;  // of targets, where they are asked for

  RowStatistics(Index d, Index p, bool covariance) : inputs(d), targets(p), pairs(covariance ? p : 0) {}

  template <class X, class Y>
  void add(const X& x, const Y& y, double w) {
    weight += w;
    inputs.add(x, w);
    targets.add(y, w);
    pairs.add(y, w);
  }
  template <class T>
  bool add_run(const T* X, Index ldx, const T* Y, Index ldy, Index rows) {
    weight = static_cast<double>(rows);
    if (!inputs.add_run(X, ldx, rows) || !targets.add_run(Y, ldy, rows)) return false;
    for (Index i = 0; i < rows && pairs.weight.size() > 0; ++i) {
      pairs.add(Eigen::Map<const Eigen::RowVector<T, Eigen::Dynamic>>(Y + i * ldy, targets.weight.size()), 1.0);
    }
    return true;
  }
  void close() { inputs.close(), targets.close(), pairs.close(); }
  void join(const RowStatistics& other) {
    weight += other.weight;
    inputs.join(other.inputs), targets.join(other.targets), pairs.join(other.pairs);
  }
  // Calls each(matrix) for all numbers but the weight.
  template <class Each>
  void visit(const Each& each) {
    inputs.visit(each), targets.visit(each), pairs.visit(each);
  }
};

// A tree of them. Rows come by their ascending numbers; those of a process begin and end at runs.
class RowStatisticsTree {
 public:
  static constexpr Index run = 128;

  RowStatisticsTree(Index d, Index p, bool covariance, Index first_row)
      : empty_(d, p, covariance), open_(empty_), at_(first_row / run) {}

  template <class X, class Y>
  void add(Index number, const X& x, const Y& y, double w) {
    close_before(number / run);
    open_.add(x, y, w);
  }
  // A whole run, rows of weight 1 whose first has this number; false, and nothing added, where not all cells are
  // finite.
  template <class T>
  bool add_run(Index number, const T* X, Index ldx, const T* Y, Index ldy) {
    close_before(number / run);
    if (open_.add_run(X, ldx, Y, ldy, run)) return true;
    open_ = empty_;
    return false;
  }
  // Runs [first, end), all of whose rows another tree has that began there, after all rows before them.
  void append(RowStatisticsTree& runs, Index first, Index end) {
    close_before(first);
    runs.close_before(end);
    for (Node& node : runs.nodes_) push(std::move(node));
    at_ = end;
  }
  // Of all rows, those of other processes too; rows that are here end before row `end`.
  RowStatistics total(Index end, const Communicator* processes) {
    close_before((end + run - 1) / run);
    if (processes) share(*processes);
    if (nodes_.empty()) return empty_;
    RowStatistics sum = nodes_.back().of;
    for (auto node = nodes_.rbegin() + 1; node != nodes_.rend(); ++node) {
      RowStatistics before = node->of;
      before.join(sum);
      sum = before;
    }
    return sum;
  }

 private:
  struct Node {  // runs [index 2^level, (index + 1) 2^level)
    Index level, index;
    RowStatistics of;
  };

  void close_before(Index wanted) {
    for (; at_ < wanted; ++at_) {
      open_.close();
      push({0, at_, open_});
      open_ = empty_;
    }
  }
  void push(Node node) {
    while (!nodes_.empty() && nodes_.back().level == node.level && nodes_.back().index % 2 == 0 &&
           nodes_.back().index + 1 == node.index) {
      nodes_.back().of.join(node.of);
      node = {node.level + 1, node.index / 2, std::move(nodes_.back().of)};
      nodes_.pop_back();
    }
    nodes_.push_back(std::move(node));
  }
  void share(const Communicator& processes) {
    std::vector<double> own;
    for (Node& node : nodes_) {
      own.insert(own.end(), {static_cast<double>(node.level), static_cast<double>(node.index), node.of.weight});
      node.of.visit([&](const auto& values) { own.insert(own.end(), values.data(), values.data() + values.size()); });
    }
    const std::vector<double> all = processes.gather(own);
    nodes_.clear();
    for (const double* from = all.data(); from < all.data() + all.size();) {
      Node node{static_cast<Index>(from[0]), static_cast<Index>(from[1]), empty_};
      node.of.weight = from[2];
      from += 3;
      node.of.visit([&](auto& values) {
        std::copy_n(from, values.size(), values.data());
        from += values.size();
      });
      push(std::move(node));
    }
  }

  RowStatistics empty_, open_;
  std::vector<Node> nodes_;
  Index at_;  // the run under way
};

}  // namespace carmina
