// models/choose/equal_rows.hpp -- rows that are there several times as one row of their weight.
#pragma once
#include "data/data_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace carmina {

// Rows with equal inputs and targets become the first of them, with the sum of their weights, where weights are whole
// numbers: repetitions. A choice is then the same, to the bit but for the rounding of means, whether a row is repeated
// or weighted: kernel matrices of equal rows are singular but for alpha, and rounding would be carried on by searches.
template <Real T>
void merge_equal_rows(HeldRows<T>& held) {
  const Index n = held.rows(), d = held.X.cols(), p = held.Y.cols();
  const auto weight = [&](Index i) { return held.weights.size() > 0 ? held.weights[i] : T(1); };
  for (Index i = 0; i < n; ++i) {
    if (weight(i) != std::floor(weight(i))) return;
  }
  const auto compare = [&](Index a, Index b) {  // by bits: targets may be missing
    const int inputs = std::memcmp(held.X.row(a).data(), held.X.row(b).data(), static_cast<std::size_t>(d) * sizeof(T));
    if (inputs != 0) return inputs;
    return std::memcmp(held.Y.row(a).data(), held.Y.row(b).data(), static_cast<std::size_t>(p) * sizeof(T));
  };
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return compare(a, b) < 0; });
  Vector<T> weights = Vector<T>::Zero(n);
  std::vector<Index> kept;
  for (const Index i : order) {
    if (kept.empty() || compare(kept.back(), i) != 0) kept.push_back(i);
    weights[kept.back()] += weight(i);
  }
  if (static_cast<Index>(kept.size()) == n) return;
  std::sort(kept.begin(), kept.end());
  std::vector<Index> numbers;
  for (const Index i : kept) numbers.push_back(held.numbers[static_cast<std::size_t>(i)]);
  held = {Matrix<T>(held.X(kept, Eigen::all)), Matrix<T>(held.Y(kept, Eigen::all)), Vector<T>(weights(kept)),
          std::move(numbers)};
}

}  // namespace carmina
