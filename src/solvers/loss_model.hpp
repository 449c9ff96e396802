// solvers/loss_model.hpp -- the linear model f = phi E theta + b under a loss: values, gradients and lower bounds.
#pragma once
#include "loss_rows.hpp"

#include <carmina/solvers/any_loss.hpp>

namespace carmina {

// Coefficients and intercept, or a direction among them.
struct Point {
  Vector<double> theta, b;

  Point plus(const Point& other, double factor) const { return {theta + factor * other.theta, b + factor * other.b}; }
  Point scaled(double factor) const { return {factor * theta, factor * b}; }
};

// With an intercept, features are taken about their mean, which moves b alone and keeps theta and b from pulling on
// each other.
class LossModel {
 public:
  LossModel(const FeatureProducts& features, const CoefficientSpace& space, const LossRows& rows, double alpha,
            bool fit_intercept, Execution execution);

  double alpha() const { return alpha_; }
  bool has_intercept() const { return fit_intercept_; }
  const LossRows& rows() const { return rows_; }
  const FeatureProducts& features() const { return features_; }
  const CoefficientSpace& space() const { return space_; }
  const Execution& execution() const { return execution_; }
  bool has_blocks() const { return features_.block_outputs > 0; }
  double penalty(const Point& at) const { return alpha_ / 2 * at.theta.squaredNorm(); }
  static double dot(const Point& a, const Point& c) { return a.theta.dot(c.theta) + a.b.dot(c.b); }

  // F (n, p) at a point
  void values(const Point& at, Matrix<double>& F) const;
  // sum_i w_i g_i pulled back, and the penalty's gradient
  Point gradient(const Point& at, const Matrix<double>& G) const;
  // sum_i Phi_i r_i and sum_i r_i
  Point pull_back(const Matrix<double>& R) const;
  // SPEC 2c: with g_i in the domain of l* (and sum_i w_i g_i = 0: balanced here), -sum_i w_i l*(g_i) -
  // |sum_i w_i Phi_i g_i|^2 / (2 alpha) is below J everywhere.
  double lower_bound(Matrix<double> G) const;
  LinearSolution solution(const Point& at) const;

  // The mean of phi C over the rows, (p); zero without an intercept.
  Vector<double> mean_values(const Matrix<double>& C) const;
  // sum_i phi_i r_i (features, q) -> sum_i (phi_i - mean) r_i, where sum_i r_i = total.
  void centre(Matrix<double>& sums, const Vector<double>& total) const;

 protected:
  // What E theta is multiplied with to give the mean of F: the features' mean, a column for each output of blocks; zero
  // without an intercept.
  const Matrix<double>& mean() const { return mean_; }

 private:
  const FeatureProducts& features_;
  const CoefficientSpace& space_;
  const LossRows& rows_;
  double alpha_;
  bool fit_intercept_;
  Execution execution_;
  Matrix<double> mean_;
};

}  // namespace carmina
