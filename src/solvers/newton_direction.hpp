// solvers/newton_direction.hpp -- the linear model f = phi E theta + b under a loss, and descent directions for it.
#pragma once
#include "loss_rows.hpp"

#include <carmina/solvers/any_loss.hpp>

#include <deque>
#include <utility>

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
  const CoefficientSpace& space() const { return space_; }
  double penalty(const Point& at) const { return alpha_ / 2 * at.theta.squaredNorm(); }
  static double dot(const Point& a, const Point& c) { return a.theta.dot(c.theta) + a.b.dot(c.b); }

  // F (n, p) at a point
  void values(const Point& at, Matrix<double>& F) const;
  // sum_i w_i g_i pulled back, and the penalty's gradient
  Point gradient(const Point& at, const Matrix<double>& G) const;
  // |sum_i w_i Phi_i g_i|^2 / (2 alpha)
  double dual_penalty(const Matrix<double>& G) const;
  // sum_i Phi_i r_i and sum_i r_i
  Point pull_back(const Matrix<double>& R) const;
  // About the inverse of the second derivatives when every D_i is c I.
  Point precondition(double c, const Point& r) const;
  // Minimiser of the squared loss.
  Point ridge_point() const;
  LinearSolution solution(const Point& at) const;

  bool has_blocks() const { return features_.block_outputs > 0; }
  // Lower triangle of [z, 1]ᵀ diag(u) [z, 1], z the features about their mean; not for blocks.
  Matrix<double> centred_gram(const Vector<double>& u) const;
  const Execution& execution() const { return execution_; }

 private:
  Vector<double> mean_values(const Matrix<double>& C) const;  // (p)
  const FeatureProducts& features_;
  const CoefficientSpace& space_;
  const LossRows& rows_;
  double alpha_;
  bool fit_intercept_;
  Execution execution_;
  // What E theta is multiplied with to give the mean of F: the features' mean, a column for each output of blocks; zero
  // without an intercept.
  Matrix<double> mean_;
  CoefficientSpace::Inverse inverse_;
};

// -H⁻¹ gradient for the second derivatives H given by D: by Cholesky where every output is on its own, else by
// preconditioned conjugate gradients.
Point newton_direction(const LossModel& model, const RowCurvatures& D, const Point& gradient);

// Two loops over the last moves [Nocedal 1980], started from the preconditioner.
class LimitedMemory {
 public:
  Point direction(const LossModel& model, double curvature, const Point& gradient) const;
  void remember(Point move, Point change);

 private:
  static constexpr std::size_t moves_kept = 12;
  std::deque<std::pair<Point, Point>> moves_;  // (move, change of the gradient)
};

}  // namespace carmina
