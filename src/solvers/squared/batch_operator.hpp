// solvers/squared/batch_operator.hpp -- products with the rows of a mini-batch.
#pragma once
#include "backends/blas.hpp"
#include "backends/tiled.hpp"
#include "solvers/squared/expanded_operator.hpp"

namespace carmina {

// Products with (n / |B|) P_Bᵀ W P_B for a few rows.
class BatchOperator {
 public:
  BatchOperator(const ExpandedProblem& problem, const ExpandedOperator& whole)
      : problem_(problem), mean_(whole.feature_mean().transpose()), all_weights_(problem.rows.weights()) {}

  // Rows of a window by their places in it.
  void take(Index first_row, const Index* places, Index count, const FeatureRows::Gather& gather) {
    gather(places, count, phi_);
    if (problem_.fit_intercept) phi_.rowwise() -= mean_;
    weights_ = Vector<double>::NullaryExpr(
        count, [&](Index i) { return all_weights_.size() > 0 ? all_weights_[first_row + places[i]] : 1.0; });
  }

  // out = (n / |B|) P_Bᵀ W P_B U for columns U (dim_coef, k)
  void multiply(const Eigen::MatrixXd& U, Eigen::MatrixXd& out) {
    using backend::Transpose;
    const Index rows = phi_.rows(), m = phi_.cols(), p = problem_.expansion.dim_out(), width = p * U.cols();
    direction_.resize(m, width);
    for (Index j = 0; j < U.cols(); ++j) direction_.middleCols(j * p, p) = problem_.expansion.expand(U.col(j));
    values_.resize(rows, width);
    backend::gemm<double>(Transpose::no, Transpose::no, rows, width, m, 1.0, phi_.data(), m, direction_.data(), width,
                          0.0, values_.data(), width);
    const double scale = static_cast<double>(problem_.rows.rows()) / static_cast<double>(rows);
    values_.array().colwise() *= scale * weights_.array();
    product_.resize(m, width);
    backend::gemm<double>(Transpose::yes, Transpose::no, m, width, rows, 1.0, phi_.data(), m, values_.data(), width,
                          0.0, product_.data(), width);
    out.resize(U.rows(), U.cols());
    for (Index j = 0; j < U.cols(); ++j) out.col(j) = problem_.expansion.contract(product_.middleCols(j * p, p));
  }

  Index rows() const { return phi_.rows(); }

 private:
  const ExpandedProblem& problem_;
  Eigen::RowVectorXd mean_;
  Vector<double> all_weights_, weights_;  // the former empty: all one
  Matrix<double> phi_, direction_, values_, product_;
};

}  // namespace carmina
