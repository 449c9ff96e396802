// solvers/losses/loss_model.cpp -- products of the model, about the mean of the features.
#include "solvers/losses/loss_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {

LossModel::LossModel(const FeatureRows& features, const CoefficientSpace& space, const LossRows& rows, double alpha,
                     bool fit_intercept, Execution execution)
    : features_(features),
      space_(space),
      rows_(rows),
      alpha_(alpha),
      fit_intercept_(fit_intercept),
      execution_(std::move(execution)),
      mean_(Matrix<double>::Zero(features.features(), std::max<Index>(1, features.block_outputs()))) {
  if (!fit_intercept_ || kernel()) return;
  for (Index j = 0; j < mean_.cols(); ++j) {
    Matrix<double> R = Matrix<double>::Zero(rows_.rows(), mean_.cols()), sums;
    R.col(j).setOnes();
    rows_.apply_weights(R);
    features_.adjoint(R, sums);
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

void LossModel::set_image(Point& at) const {
  if (!kernel()) return;
  Matrix<double> image;
  features_.forward(Eigen::Map<const Matrix<double>>(at.theta.data(), rows_.rows(), space_.rank()), image);
  at.image = Eigen::Map<const Vector<double>>(image.data(), image.size());
}

void LossModel::values(const Point& at, Matrix<double>& F) const {
  if (kernel()) {
    F = space_.expand(at.image);
    F.rowwise() += at.b.transpose();
    return;
  }
  const Matrix<double> C = space_.expand(at.theta);
  features_.forward(C, F);
  F.rowwise() += (at.b - mean_values(C)).transpose();
}

Point LossModel::pull_back(const Matrix<double>& R) const {
  Matrix<double> sums;
  features_.adjoint(R, sums);
  const Vector<double> total = R.colwise().sum().transpose();
  centre(sums, total);
  return {space_.contract(sums), fit_intercept_ ? total : Vector<double>(Vector<double>::Zero(total.size()))};
}

Point LossModel::gradient(const Point& at, const Matrix<double>& G) const {
  const Point none{Vector<double>::Zero(at.theta.size()), Vector<double>::Zero(at.b.size()),
                   Vector<double>::Zero(at.image.size())};
  return gradient(at, G, none, 0);
}

// What is rounding is made zero: rows at a flat part of the loss have theta_i = -w_i g_i / alpha, and no more to say.
Point LossModel::gradient(const Point& at, const Matrix<double>& G, const Point& before, double t) const {
  constexpr double rounding = 8 * std::numeric_limits<double>::epsilon();
  Matrix<double> R = G;
  rows_.apply_weights(R);
  Point slope = pull_back(R);
  slope.theta += alpha_ * at.theta;
  if (!kernel()) return slope;
  Point rest{slope.theta - (1 - t) * before.theta, slope.b};
  for (Index k = 0; k < rest.theta.size(); ++k) {
    const double size = alpha_ * std::abs(at.theta[k]) + std::abs(before.theta[k]);
    if (std::abs(slope.theta[k]) <= rounding * size) slope.theta[k] = 0;
    if (std::abs(rest.theta[k]) <= rounding * size) rest.theta[k] = 0;
  }
  set_image(rest);
  slope.image = (1 - t) * before.image + rest.image;
  return slope;
}

// Of a kernel, sum_i w_i Phi_i g_i is the gradient less alpha theta.
double LossModel::lower_bound(Matrix<double> G, const Point& at) const {
  if (fit_intercept_) rows_.balance(G);
  const double conjugates = rows_.conjugate(G);
  Point pulled;
  if (kernel()) {
    pulled = gradient(at, G).plus(at, -alpha_);
  } else {
    rows_.apply_weights(G);
    pulled = pull_back(G);
  }
  return -conjugates - pulled.inner(pulled) / (2 * alpha_);
}

Matrix<double> LossModel::features_of(const std::vector<Index>& numbers) const {
  Matrix<double> found(static_cast<Index>(numbers.size()), features_.features()), part;
  std::vector<Index> places;
  std::size_t next = 0;
  features_.windows([&](Index first_row, Index rows, const FeatureRows::Gather& gather) {
    const auto from = static_cast<Index>(next);
    for (places.clear(); next < numbers.size() && numbers[next] < first_row + rows; ++next) {
      places.push_back(numbers[next] - first_row);
    }
    if (places.empty()) return;
    gather(places.data(), static_cast<Index>(places.size()), part);
    found.middleRows(from, part.rows()) = part;
  });
  return found;
}

LinearSolution LossModel::solution(const Point& at) const {
  LinearSolution found{space_.model_coefficients(at.theta), at.b};
  if (fit_intercept_) found.intercept -= mean_values(space_.expand(at.theta));
  return found;
}

}  // namespace carmina
