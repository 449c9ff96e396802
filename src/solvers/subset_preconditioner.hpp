// solvers/subset_preconditioner.hpp -- a factor of the normal equations of a few rows, to precondition those of all
// rows.
#pragma once
#include <carmina/backends/blas.hpp>
#include <carmina/solvers/squared_loss.hpp>

#include <cmath>
#include <memory>

namespace carmina {

// M = delta (w / w_s) H_s + alpha I, H_s the centred Gram matrix of a sample of s = 8 m rows, spread evenly over the
// source. Were the sample as good as one of a random Gaussian design, M^-1 (delta H + alpha I) would have eigenvalues
// within (1 +- sqrt(m / s))^2 and cg would cut the error to a third each time. Rows that matter more than others, and
// eigenvalues of H near or below alpha, make it slower: some tests take twice as many iterations as that.
template <ScalarMap M>
class SubsetPreconditioner {
 public:
  using T = typename M::Scalar;
  static constexpr Index rows_per_feature = 8;

  // Whether there are enough rows for the sample to be a small part of them.
  static bool worthwhile(Index rows, Index features) { return rows >= 4 * rows_per_feature * features; }

  SubsetPreconditioner(const M& map, RowSource<T>& rows, Index row_count, Index rows_at_once, bool centred,
                       double delta, double alpha, const Execution& execution)
      : order_(map.n_features()) {
    const Sample sample(rows, row_count, rows_per_feature * order_, rows_at_once);
    Moments moments(order_, Vector<double>(Vector<double>::Zero(0)));
    MomentsBuilder<M> builder(map, moments, execution);
    builder.add(sample.block());
    const double weight = moments.total_weight();
    const Vector<double> g = moments.feature_sums().transpose();
    factor_ = std::move(moments.sums);
    for (Index i = 0; i < order_; ++i) {
      auto row = factor_.row(i).head(i + 1);
      if (centred) row -= g[i] / weight * g.head(i + 1).transpose();
      row *= delta * sample.total_weight / weight;
      row[i] += alpha;
    }
    BlasThreads blas(execution.thread_count());
    usable_ = backend::cholesky(order_, factor_.data(), factor_.outerStride());
  }

  // Z = M^-1 R; the identity where M was singular.
  void operator()(const Matrix<double>& R, Matrix<double>& Z) const {
    Z = R;
    if (!usable_) return;
    BlasThreads blas(1);  // a few columns: reading the factor takes longer than computing with it
    backend::cholesky_solve(order_, Z.cols(), factor_.data(), factor_.outerStride(), Z.data(), Z.outerStride());
  }

 private:
  // Every row whose number times wanted / count passes a whole number.
  struct Sample {
    Matrix<T> X;
    std::vector<T> weights;
    double total_weight = 0;

    Sample(RowSource<T>& rows, Index count, Index wanted, Index rows_at_once) {
      std::vector<T> cells;
      const double step = std::min(1.0, static_cast<double>(wanted) / static_cast<double>(count));
      rows.rewind();
      for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
        for (Index i = 0; i < block.rows; ++i) {
          const T w = block.weights ? block.weights[i] : T(1);
          total_weight += static_cast<double>(w);
          const auto at = static_cast<double>(block.first_row + i);
          if (std::floor((at + 1) * step) == std::floor(at * step) || w == 0) continue;
          cells.insert(cells.end(), block.X + i * block.x_stride, block.X + i * block.x_stride + block.dim_in);
          weights.push_back(w);
        }
      }
      X = Eigen::Map<const Matrix<T>>(cells.data(), static_cast<Index>(weights.size()), rows.dim_in());
    }
    RowBlock<T> block() const { return {X.data(), X.data(), weights.data(), X.rows(), X.cols(), 0, X.cols(), 0, 0}; }
  };

  Index order_;
  Matrix<double> factor_;
  bool usable_ = false;
};

}  // namespace carmina
