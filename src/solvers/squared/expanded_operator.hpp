// solvers/squared/expanded_operator.hpp -- P_c = W^(1/2) (P - mean) of a Fourier model as products over the rows.
#pragma once
#include "solvers/squared/iterative.hpp"
#include "solvers/squared/row_sums.hpp"

#include <cmath>

namespace carmina {

class ExpandedOperator {
 public:
  explicit ExpandedOperator(const ExpandedProblem& problem)
      : problem_(problem), sums_(problem.rows.sums(problem.origin)) {
    if (problem.fit_intercept) sums_.centre();
  }

  const RowSums& sums() const { return sums_; }
  // The features' weighted mean (features, 1), or of the rows that each output has (features, p); zero without an
  // intercept.
  Matrix<double> feature_means() const {
    return problem_.fit_intercept ? sums_.feature_means() : Matrix<double>::Zero(sums_.feature_sums.size(), 1);
  }
  // The mean of phi C for each output: C (features, p)
  static Eigen::RowVectorXd mean_values(const Matrix<double>& means, const Matrix<double>& C) {
    return means.cols() == 1 ? Eigen::RowVectorXd(means.col(0).transpose() * C)
                             : Eigen::RowVectorXd(means.cwiseProduct(C).colwise().sum());
  }
  // sums (features, p) of phiᵀR less those of the mean: totals (p) of R
  static void centre(const Matrix<double>& means, const Eigen::RowVectorXd& totals, Matrix<double>& sums) {
    if (means.cols() == 1) {
      sums.noalias() -= means.col(0) * totals;
    } else {
      sums.noalias() -= means * totals.asDiagonal();
    }
  }
  // g = P_cᵀ W y (dim_coef)
  Vector<double> right() const { return problem_.expansion.contract(sums_.cross); }

  // out = (H + alpha I) theta, in one pass over the rows.
  void normal(const Vector<double>& theta, Vector<double>& out) {
    normal_product(problem_.rows, sums_, problem_.fit_intercept, problem_.expansion.expand(theta), features_);
    out = problem_.expansion.contract(features_) + problem_.alpha * theta;
  }

  // out (n, p) = W^(1/2) (y - mean)
  Matrix<double> targets() {
    root_weights_ = problem_.rows.weights().cwiseSqrt();
    Matrix<double> out = problem_.rows.targets();
    const Vector<double> centre = problem_.origin + (problem_.fit_intercept ? 1.0 : 0.0) * sums_.target_means();
    if (sums_.missing()) seen_ = out.array().isNaN().select(0.0, Matrix<double>::Ones(out.rows(), out.cols()));
    out.rowwise() -= centre.transpose();
    scale_rows(out);
    return out;
  }

  // out (n, p) = P_c theta; after targets().
  void forward(const Vector<double>& theta, Matrix<double>& out) const {
    const Matrix<double> coefficients = problem_.expansion.expand(theta);
    problem_.rows.forward(coefficients, out);
    out.rowwise() -= mean_values(feature_means(), coefficients);
    scale_rows(out);
  }

  // out (dim_coef) = P_cᵀ u, u (n, p); after targets().
  void backward(const Matrix<double>& u, Vector<double>& out) const {
    Matrix<double> weighted = u, sum;
    scale_rows(weighted);
    problem_.rows.adjoint(weighted, sum);
    if (problem_.fit_intercept) centre(feature_means(), weighted.colwise().sum(), sum);
    out = problem_.expansion.contract(sum);
  }

  LinearSolution solution(const Vector<double>& theta) const {
    return with_intercept(problem_.expansion.expand(theta), sums_, problem_.origin, problem_.fit_intercept);
  }

 private:
  void scale_rows(Matrix<double>& out) const {
    if (seen_.size() > 0) out = (seen_.array() > 0).select(out, 0.0);
    if (root_weights_.size() > 0) out.array().colwise() *= root_weights_.array();
  }

  const ExpandedProblem& problem_;
  RowSums sums_;
  Matrix<double> features_;
  Vector<double> root_weights_;  // empty: all one
  Matrix<double> seen_;          // (n, p), one where a target is there; empty: everywhere
};

}  // namespace carmina
