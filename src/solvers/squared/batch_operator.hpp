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
      : problem_(problem), means_(whole.feature_means()), all_weights_(problem.rows.weights()) {
    if (whole.sums().missing()) all_targets_ = problem.rows.targets();
  }

  // Rows of a window by their places in it.
  void take(Index first_row, const Index* places, Index count, const FeatureRows::Gather& gather) {
    gather(places, count, phi_);
    if (problem_.fit_intercept && !missing()) phi_.rowwise() -= means_.col(0).transpose();
    weights_ = Vector<double>::NullaryExpr(
        count, [&](Index i) { return all_weights_.size() > 0 ? all_weights_[first_row + places[i]] : 1.0; });
    if (!missing()) return;
    seen_.resize(count, all_targets_.cols());
    for (Index i = 0; i < count; ++i) {
      for (Index a = 0; a < seen_.cols(); ++a) seen_(i, a) = !std::isnan(all_targets_(first_row + places[i], a));
    }
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
    for (Index j = 0; missing() && j < U.cols(); ++j) {
      auto values = values_.middleCols(j * p, p);
      if (problem_.fit_intercept) {
        values.rowwise() -= ExpandedOperator::mean_values(means_, direction_.middleCols(j * p, p));
      }
      values = seen_.select(values, 0.0);
    }
    const double scale = static_cast<double>(problem_.rows.rows()) / static_cast<double>(rows);
    values_.array().colwise() *= scale * weights_.array();
    product_.resize(m, width);
    backend::gemm<double>(Transpose::yes, Transpose::no, m, width, rows, 1.0, phi_.data(), m, values_.data(), width,
                          0.0, product_.data(), width);
    out.resize(U.rows(), U.cols());
    for (Index j = 0; j < U.cols(); ++j) {
      Matrix<double> sums = product_.middleCols(j * p, p);
      if (missing() && problem_.fit_intercept) {
        ExpandedOperator::centre(means_, values_.middleCols(j * p, p).colwise().sum(), sums);
      }
      out.col(j) = problem_.expansion.contract(sums);
    }
  }

  Index rows() const { return phi_.rows(); }

 private:
  bool missing() const { return all_targets_.size() > 0; }

  const ExpandedProblem& problem_;
  Matrix<double> means_;                  // of the features
  Vector<double> all_weights_, weights_;  // the former empty: all one
  Matrix<double> all_targets_;            // empty where none is missing
  Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> seen_;
  Matrix<double> phi_, direction_, values_, product_;
};

}  // namespace carmina
