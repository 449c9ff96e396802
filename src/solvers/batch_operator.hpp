// solvers/batch_operator.hpp -- products with the rows of a mini-batch, and rows kept in memory to draw batches from.
#pragma once
#include "expanded_operator.hpp"

#include <carmina/backends/blas.hpp>

namespace carmina {

// Products with (n / |B|) P_Bᵀ W P_B for a few rows, whose features are computed on the fly.
template <ScalarMap M>
class BatchOperator {
 public:
  using T = typename M::Scalar;
  BatchOperator(const ExpandedProblem<M>& problem, const ExpandedOperator<M>& whole, const Execution& execution)
      : problem_(problem),
        execution_(execution),
        mean_(whole.feature_mean().transpose().template cast<T>()),
        total_(static_cast<double>(whole.sums().rows)) {}

  void take(const RowBlock<T>& block, const Index* order, Index count) {
    X_.resize(count, block.dim_in);
    weights_.resize(count);
    for (Index i = 0; i < count; ++i) {
      X_.row(i) = block.inputs().row(order[i]);
      weights_[i] = block.weights ? block.weights[order[i]] : T(1);
    }
    phi_.resize(count, problem_.map.n_features());
    evaluate(problem_.map, X_, View<T>(phi_), execution_);
    if (problem_.fit_intercept) phi_.rowwise() -= mean_;
  }

  // out = (n / |B|) P_Bᵀ W P_B U for columns U (dim_coef, k)
  void multiply(const Eigen::MatrixXd& U, Eigen::MatrixXd& out) {
    const Index rows = phi_.rows(), m = phi_.cols(), p = problem_.expansion.dim_out(), width = p * U.cols();
    direction_.resize(m, width);
    for (Index j = 0; j < U.cols(); ++j) {
      direction_.middleCols(j * p, p) = problem_.expansion.expand(U.col(j)).template cast<T>();
    }
    using backend::Transpose;
    BlasThreads serial(1);  // so that sums do not depend on the number of threads
    values_.resize(rows, width);
    backend::gemm<T>(Transpose::no, Transpose::no, rows, width, m, T(1), phi_.data(), m, direction_.data(), width, T(0),
                     values_.data(), width);
    const T scale = static_cast<T>(total_ / static_cast<double>(rows));
    for (Index i = 0; i < rows; ++i) values_.row(i) *= scale * weights_[i];
    product_.resize(m, width);
    backend::gemm<T>(Transpose::yes, Transpose::no, m, width, rows, T(1), phi_.data(), m, values_.data(), width, T(0),
                     product_.data(), width);
    out.resize(U.rows(), U.cols());
    for (Index j = 0; j < U.cols(); ++j) {
      out.col(j) = problem_.expansion.contract(product_.middleCols(j * p, p).template cast<double>());
    }
  }

  Index rows() const { return phi_.rows(); }

 private:
  const ExpandedProblem<M>& problem_;
  const Execution& execution_;
  Eigen::Matrix<T, 1, Eigen::Dynamic> mean_;
  double total_;
  Matrix<T> X_, phi_, direction_, values_, product_;
  Vector<T> weights_;
};

// Inputs and weights of all rows in memory, when they are to be kept.
template <Real T>
struct KeptRows {
  Matrix<T> X;
  Vector<T> weights;

  KeptRows(RowSource<T>& rows, Index n, Index rows_at_once) : X(n, rows.dim_in()), weights(Vector<T>::Ones(n)) {
    rows.rewind();
    for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
      X.middleRows(block.first_row, block.rows) = block.inputs();
      if (block.weights)
        weights.segment(block.first_row, block.rows) = Eigen::Map<const Vector<T>>(block.weights, block.rows);
    }
  }
  RowBlock<T> block() const {
    return {X.data(), nullptr, weights.data(), X.rows(), X.cols(), 0, X.outerStride(), 0, 0};
  }
};

}  // namespace carmina
