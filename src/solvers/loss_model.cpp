// solvers/loss_model.cpp -- products of the model, about the mean of the features.
#include "loss_model.hpp"

#include <algorithm>

namespace carmina {

LossModel::LossModel(const FeatureProducts& features, const CoefficientSpace& space, const LossRows& rows, double alpha,
                     bool fit_intercept, Execution execution)
    : features_(features),
      space_(space),
      rows_(rows),
      alpha_(alpha),
      fit_intercept_(fit_intercept),
      execution_(std::move(execution)),
      mean_(Matrix<double>::Zero(features.features, std::max<Index>(1, features.block_outputs))) {
  if (!fit_intercept_) return;
  for (Index j = 0; j < mean_.cols(); ++j) {
    Matrix<double> R = Matrix<double>::Zero(rows_.rows(), mean_.cols()), sums;
    R.col(j).setOnes();
    rows_.apply_weights(R);
    features_.backward(R, sums);
    mean_.col(j) = sums / rows_.total_weight();
  }
}

Vector<double> LossModel::mean_values(const Matrix<double>& C) const {
  return has_blocks() ? Vector<double>(mean_.transpose() * C) : Vector<double>(C.transpose() * mean_);
}

void LossModel::centre(Matrix<double>& sums, const Vector<double>& total) const {
  if (has_blocks()) {
    sums.noalias() -= mean_ * total;
  } else {
    sums.noalias() -= mean_ * total.transpose();
  }
}

void LossModel::values(const Point& at, Matrix<double>& F) const {
  const Matrix<double> C = space_.expand(at.theta);
  features_.forward(C, F);
  F.rowwise() += (at.b - mean_values(C)).transpose();
}

Point LossModel::pull_back(const Matrix<double>& R) const {
  Matrix<double> sums;
  features_.backward(R, sums);
  const Vector<double> total = R.colwise().sum().transpose();
  centre(sums, total);
  return {space_.contract(sums), fit_intercept_ ? total : Vector<double>(Vector<double>::Zero(total.size()))};
}

Point LossModel::gradient(const Point& at, const Matrix<double>& G) const {
  Matrix<double> R = G;
  rows_.apply_weights(R);
  Point slope = pull_back(R);
  slope.theta += alpha_ * at.theta;
  return slope;
}

double LossModel::lower_bound(Matrix<double> G) const {
  if (fit_intercept_) rows_.balance(G);
  const double conjugates = rows_.conjugate(G);
  rows_.apply_weights(G);
  return -conjugates - pull_back(G).theta.squaredNorm() / (2 * alpha_);
}

LinearSolution LossModel::solution(const Point& at) const {
  LinearSolution found{space_.model_coefficients(at.theta), at.b};
  if (fit_intercept_) found.intercept -= mean_values(space_.expand(at.theta));
  return found;
}

}  // namespace carmina
