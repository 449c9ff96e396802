// solvers/expanded_operator.hpp -- P_c = W^(1/2) (P - mean) of a Fourier model as products over streamed rows.
#pragma once
#include "row_sums.hpp"

#include <carmina/solvers/iterative.hpp>

#include <cmath>

namespace carmina {

template <ScalarMap M>
class ExpandedOperator {
 public:
  using T = typename M::Scalar;

  ExpandedOperator(const ExpandedProblem<M>& problem, const Execution& execution)
      : problem_(problem),
        execution_(execution),
        sums_(stream_sums(problem.map, problem.rows, problem.rows_at_once, problem.origin, problem.fit_intercept,
                          execution)) {}

  const RowSums& sums() const { return sums_; }
  // The features' weighted mean (features); zero without an intercept.
  Vector<double> feature_mean() const {
    return problem_.fit_intercept ? Vector<double>(sums_.feature_sums / sums_.weight)
                                  : Vector<double>(Vector<double>::Zero(sums_.feature_sums.size()));
  }
  // g = P_cᵀ W y (dim_coef)
  Vector<double> right() const { return problem_.expansion.contract(sums_.cross); }

  // out = (H + alpha I) theta, in one pass over the rows.
  void normal(const Vector<double>& theta, Vector<double>& out) {
    normal_product(problem_.map, problem_.rows, problem_.rows_at_once, sums_, problem_.fit_intercept,
                   problem_.expansion.expand(theta), features_, execution_);
    out = problem_.expansion.contract(features_) + problem_.alpha * theta;
  }

  // out (n, p) = W^(1/2) (y - mean)
  Matrix<double> targets() const {
    Matrix<double> out(sums_.rows, problem_.origin.size());
    const Vector<double> centre =
        problem_.origin + (problem_.fit_intercept ? 1.0 : 0.0) * sums_.target_sums / sums_.weight;
    for_blocks([&](const RowBlock<T>& block) {
      out.middleRows(block.first_row, block.rows) =
          block.targets().template cast<double>().rowwise() - centre.transpose();
      scale_rows(block, out);
    });
    return out;
  }

  // out (n, p) = P_c theta
  void forward(const Vector<double>& theta, Matrix<double>& out) const {
    const Matrix<double> coefficients = problem_.expansion.expand(theta);
    const Matrix<T>& narrow = coefficients.template cast<T>();
    const Vector<double> mean = coefficients.transpose() * feature_mean();
    out.resize(sums_.rows, coefficients.cols());
    for_blocks([&](const RowBlock<T>& block) {
      Matrix<T> values(block.rows, coefficients.cols());
      apply(problem_.map, block.inputs(), narrow, View<T>(values), execution_);
      out.middleRows(block.first_row, block.rows) = values.template cast<double>().rowwise() - mean.transpose();
      scale_rows(block, out);
    });
  }

  // out (dim_coef) = P_cᵀ u, u (n, p)
  void backward(const Matrix<double>& u, Vector<double>& out) const {
    Matrix<double> sum = Matrix<double>::Zero(problem_.map.n_features(), u.cols());
    Vector<double> total = Vector<double>::Zero(u.cols());
    for_blocks([&](const RowBlock<T>& block) {
      Matrix<double> part = u.middleRows(block.first_row, block.rows);
      for (Index i = 0; block.weights && i < block.rows; ++i)
        part.row(i) *= std::sqrt(static_cast<double>(block.weights[i]));
      total += part.colwise().sum().transpose();
      adjoint(problem_.map, block.inputs(), part.template cast<T>(), sum, execution_);
    });
    if (problem_.fit_intercept) sum.noalias() -= feature_mean() * total.transpose();
    out = problem_.expansion.contract(sum);
  }

  LinearSolution solution(const Vector<double>& theta) const {
    return with_intercept(problem_.expansion.expand(theta), sums_, problem_.origin, problem_.fit_intercept);
  }

 private:
  template <class F>
  void for_blocks(const F& f) const {
    problem_.rows.rewind();
    for (auto block = problem_.rows.next(problem_.rows_at_once); block.rows > 0;
         block = problem_.rows.next(problem_.rows_at_once)) {
      f(block);
    }
  }
  static void scale_rows(const RowBlock<T>& block, Matrix<double>& out) {
    for (Index i = 0; block.weights && i < block.rows; ++i) {
      out.row(block.first_row + i) *= std::sqrt(static_cast<double>(block.weights[i]));
    }
  }

  const ExpandedProblem<M>& problem_;
  const Execution& execution_;
  RowSums sums_;
  Matrix<double> features_;
};

}  // namespace carmina
