// solvers/losses/newton_direction.hpp -- descent directions for a linear model under a loss, from its second
// derivatives.
#pragma once
#include "solvers/losses/loss_model.hpp"

#include <deque>
#include <utility>

namespace carmina {

// A model that knows its Gram matrix; of rows of a kernel, K is known.
class NewtonModel : public LossModel {
 public:
  NewtonModel(const FeatureRows& features, const CoefficientSpace& space, const LossRows& rows, double alpha,
              bool fit_intercept, Execution execution);

  // About the inverse of the second derivatives when every D_i is c I.
  Point precondition(double c, const Point& r) const;
  // Minimiser of the squared loss; of features.
  Point ridge_solution() const;
  // Lower triangle of [z, 1]ᵀ diag(u) [z, 1], z the features about their mean; not for blocks.
  Matrix<double> centred_gram(const Vector<double>& u) const;

 private:
  // It takes an eigendecomposition: made when it is first asked for.
  const CoefficientSpace::Inverse& inverse() const;
  // sum_i w_i z_i z_iᵀ, z the features about their mean; lower triangle.
  Matrix<double> weighted_gram() const;

  mutable CoefficientSpace::Inverse inverse_;
};

// -H⁻¹ gradient for the second derivatives H given by D: by Cholesky where every output is on its own, of the order of
// the features or of the curved rows, whichever are fewer; else by preconditioned conjugate gradients.
Point newton_direction(const NewtonModel& model, const RowCurvatures& D, const Point& gradient);

// Two loops over the last moves [Nocedal 1980], started from the preconditioner.
class LimitedMemory {
 public:
  Point direction(const NewtonModel& model, double curvature, const Point& gradient) const;
  void remember(Point move, Point change);

 private:
  static constexpr std::size_t moves_kept = 12;
  std::deque<std::pair<Point, Point>> moves_;  // (move, change of the gradient)
};

}  // namespace carmina
