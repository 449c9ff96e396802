// solvers/moments.hpp -- everything a squared-loss fit needs to know of the rows: one matrix of sums, streamed.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/data/rows.hpp>
#include <carmina/features/map_operations.hpp>

namespace carmina {

// Sums over rows of w z zᵀ with z = [phi(x), y - origin, 1]: the Gram matrix, phi(X)ᵀWY, the means and the targets' own
// sums in one symmetric matrix. Sums of two sets of rows with the same origin add up to the sums of both.
struct Moments {
  Index features = 0, outputs = 0, rows = 0;
  Vector<double> origin;  // (p), near the targets' mean, so that float products do not cancel
  Matrix<double> sums;    // (m + p + 1, m + p + 1), lower triangle

  Moments(Index n_features, Vector<double> target_origin);

  double total_weight() const { return sums(features + outputs, features + outputs); }
  auto feature_sums() const { return sums.row(features + outputs).head(features); }             // 1ᵀW phi
  auto target_sums() const { return sums.row(features + outputs).segment(features, outputs); }  // 1ᵀW(Y - origin)
  auto cross() const { return sums.block(features, 0, outputs, features); }                     // (Y - origin)ᵀW phi
};

// Adds the rows of a block. Products of `rows_at_once` rows are summed in the map's precision, then in double.
template <ScalarMap M>
class MomentsBuilder {
 public:
  using T = typename M::Scalar;
  MomentsBuilder(const M& map, Moments& moments, const Execution& execution);

  Index rows_at_once() const { return rows_at_once_; }
  void add(const RowBlock<T>& block);
  // The same where the rows' features (block.rows, features) are known.
  void add(const RowBlock<T>& block, ConstView<T> features);

  // Rows evaluated together for a map of m features within a memory budget (0: none given).
  static Index choose_rows(Index m, std::size_t memory_budget);

 private:
  void add(const RowBlock<T>& block, const ConstView<T>* features);
  void fill(const RowBlock<T>& block, Index first, Index rows, const ConstView<T>* features);
  void add_products(Index rows);

  const M& map_;
  Moments& moments_;
  const Execution execution_;  // a copy: callers may pass a temporary
  Index width_, rows_at_once_;
  Matrix<T> design_;                        // sqrt(w) z (rows_at_once, width)
  std::vector<Matrix<T>> tile_, prepared_;  // per worker
};

}  // namespace carmina
