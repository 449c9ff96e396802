// models/merged_rows.hpp -- equal rows as one row with a weight, in an order that follows from the rows alone.
//
// A weight means repetition. Learning climbs by many small steps, which let rounding grow; so a row of weight w, w
// equal rows, and the same rows in another order must give the same numbers to begin with.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace carmina {

struct MergedRows {
  Matrix<double> X, Y;
  Vector<double> weights;  // empty: all one

  // Rows of weight 0 are left out; NaN in Y stands for a missing target.
  MergedRows(ConstView<double> inputs, ConstView<double> targets, const double* given) {
    const Index n = inputs.rows(), d = inputs.cols(), p = targets.cols();
    Matrix<double> all(n, d + p);
    all << inputs,
        targets.unaryExpr([](double y) { return std::isnan(y) ? std::numeric_limits<double>::infinity() : y; });
    std::vector<Index> order;
    for (Index i = 0; i < n; ++i) {
      require(!given || (given[i] >= 0 && std::isfinite(given[i])),
              "fit: row {}: a weight must not be negative, found {}", i + 1, given ? given[i] : 1);
      if (!given || given[i] > 0) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](Index i, Index j) {
      const double *a = all.row(i).data(), *b = all.row(j).data();
      return std::lexicographical_compare(a, a + d + p, b, b + d + p);
    });
    X.resize(static_cast<Index>(order.size()), d), Y.resize(X.rows(), p), weights.resize(X.rows());
    Index at = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Index i = order[k];
      const double w = given ? given[i] : 1;
      if (k > 0 && all.row(i) == all.row(order[k - 1])) {
        weights[at - 1] += w;
        continue;
      }
      X.row(at) = inputs.row(i), Y.row(at) = targets.row(i), weights[at++] = w;
    }
    X.conservativeResize(at, Eigen::NoChange), Y.conservativeResize(at, Eigen::NoChange);
    weights.conservativeResize(at);
    if ((weights.array() == 1).all()) weights.resize(0);
  }

  // Each row as often as its weight says, where all of them are whole numbers.
  void repeat() {
    if (weights.size() == 0 || (weights.array() != weights.array().round()).any()) return;
    const auto total = static_cast<Index>(weights.sum());
    Matrix<double> inputs(total, X.cols()), targets(total, Y.cols());
    Index at = 0;
    for (Index i = 0; i < X.rows(); ++i) {
      const auto count = static_cast<Index>(weights[i]);
      inputs.middleRows(at, count).rowwise() = X.row(i);
      targets.middleRows(at, count).rowwise() = Y.row(i);
      at += count;
    }
    X = std::move(inputs), Y = std::move(targets), weights.resize(0);
  }
};

}  // namespace carmina
