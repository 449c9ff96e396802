// solvers/losses/loss_model.hpp -- the linear model f = phi E theta + b under a loss: values, gradients and lower
// bounds.
#pragma once
#include "solvers/losses/convex_loss.hpp"
#include "solvers/losses/loss_rows.hpp"

namespace carmina {

// Coefficients and intercept, or a direction among them. Of rows of a kernel (`FeatureRows::kernel`) it carries K
// theta too: values and inner products then need no product with K.
struct Point {
  Vector<double> theta, b;
  Vector<double> image = {};  // K theta; empty for features

  Point plus(const Point& other, double factor) const {
    return {theta + factor * other.theta, b + factor * other.b, image + factor * other.image};
  }
  Point scaled(double factor) const { return {factor * theta, factor * b, factor * image}; }
  // <theta, other.theta>, in the norm that is penalised
  double inner(const Point& other) const { return theta.dot(other.image.size() > 0 ? other.image : other.theta); }
};

// With an intercept, features are taken about their mean, which moves b alone and keeps theta and b from pulling on
// each other. Rows of a kernel are taken as they are, so that most of a direction's coefficients are zero.
class LossModel {
 public:
  LossModel(const FeatureRows& features, const CoefficientSpace& space, const LossRows& rows, double alpha,
            bool fit_intercept, Execution execution);

  double alpha() const { return alpha_; }
  bool has_intercept() const { return fit_intercept_; }
  const LossRows& rows() const { return rows_; }
  const FeatureRows& features() const { return features_; }
  const CoefficientSpace& space() const { return space_; }
  const Execution& execution() const { return execution_; }
  bool has_blocks() const { return features_.block_outputs() > 0; }
  const Matrix<double>* kernel() const { return features_.kernel(); }
  double penalty(const Point& at) const { return alpha_ / 2 * at.inner(at); }
  static double dot(const Point& a, const Point& c) { return a.inner(c) + a.b.dot(c.b); }

  // F (n, p) at a point
  void values(const Point& at, Matrix<double>& F) const;
  // sum_i w_i g_i pulled back, and the penalty's gradient
  Point gradient(const Point& at, const Matrix<double>& G) const;
  // The same when `at` was reached by a step of t along Newton's direction from where the gradient was `before`. Rows
  // of a kernel that have no curvature keep 1 - t of theirs: K is multiplied with what is left, which is few rows.
  Point gradient(const Point& at, const Matrix<double>& G, const Point& before, double t) const;
  // K theta afresh
  void set_image(Point& at) const;
  // sum_i Phi_i r_i and sum_i r_i
  Point pull_back(const Matrix<double>& R) const;
  // mathematics.md 2c: with g_i in the domain of l* (and sum_i w_i g_i = 0: balanced here), -sum_i w_i l*(g_i) -
  // |sum_i w_i Phi_i g_i|^2 / (2 alpha) is below J everywhere. Any point `at` will do; near the minimum of what gave G,
  // few rows of a kernel are multiplied.
  double lower_bound(Matrix<double> G, const Point& at) const;
  LinearSolution solution(const Point& at) const;

  // Features of some rows, in ascending order of their numbers: (count, features).
  Matrix<double> features_of(const std::vector<Index>& numbers) const;
  // Their mean over the rows, shared by the outputs.
  Vector<double> mean_of_features() const { return mean_.col(0); }

  // The mean of phi C over the rows, (p); zero without an intercept.
  Vector<double> mean_values(const Matrix<double>& C) const;
  // sum_i phi_i r_i (features, q) -> sum_i (phi_i - mean) r_i, where sum_i r_i = total.
  void centre(Matrix<double>& sums, const Vector<double>& total) const;

 protected:
  // What E theta is multiplied with to give the mean of F: the features' mean, a column for each output of blocks; zero
  // without an intercept.
  const Matrix<double>& mean() const { return mean_; }

 private:
  const FeatureRows& features_;
  const CoefficientSpace& space_;
  const LossRows& rows_;
  double alpha_;
  bool fit_intercept_;
  Execution execution_;
  Matrix<double> mean_;
};

}  // namespace carmina
