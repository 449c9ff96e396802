// models/fit/merged_rows.hpp -- equal rows as one row with a weight, in an order that follows from the rows alone.
//
// A weight means repetition. Learning climbs by many small steps, which let rounding grow; so a row of weight w, w
// equal rows, and the same rows in another order must give the same numbers to begin with.
#pragma once
#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace carmina {

template <Real T>
struct MergedRows {
  Matrix<T> X, Y;
  Vector<T> weights;  // empty: all one; positive

  // Brings the rows that are there into order; NaN in Y stands for a missing target.
  void merge() {
    const Index n = X.rows(), d = X.cols(), p = Y.cols();
    Matrix<T> all(n, d + p);
    all << X, Y.unaryExpr([](T y) { return std::isnan(y) ? std::numeric_limits<T>::infinity() : y; });
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(), [&](Index i, Index j) {
      const T *a = all.row(i).data(), *b = all.row(j).data();
      return std::lexicographical_compare(a, a + d + p, b, b + d + p);
    });
    const Vector<T> given = weights.size() > 0 ? weights : Vector<T>(Vector<T>::Ones(n));
    const Matrix<T> targets = Y;
    weights.resize(n);
    Index at = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Index i = order[k];
      if (k > 0 && all.row(i) == all.row(order[k - 1])) {
        weights[at - 1] += given[i];
        continue;
      }
      X.row(at) = all.row(i).head(d), Y.row(at) = targets.row(i), weights[at++] = given[i];
    }
    X.conservativeResize(at, Eigen::NoChange), Y.conservativeResize(at, Eigen::NoChange);
    weights.conservativeResize(at);
    if ((weights.array() == 1).all()) weights.resize(0);
  }
};

}  // namespace carmina
