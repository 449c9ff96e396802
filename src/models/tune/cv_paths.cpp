// models/tune/cv_paths.cpp -- one decomposition, then sums and products for each alpha.
#include "models/tune/cv_paths.hpp"
#include "backends/tiled.hpp"

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

using backend::Transpose;

Vector<double> eigenvalues(const OutputFactor& outputs, Index p) {
  return outputs.identity() ? Vector<double>(Vector<double>::Ones(p)) : outputs.delta;
}

ShiftedPath primal_spectrum(const Moments& moments, const OutputFactor& outputs, const Expansion* expansion,
                            bool centred, double smallest_alpha, const Execution& execution) {
  Matrix<double> H = gram_of(moments, centred), R = row_sums_of(moments, centred).cross;
  if (expansion) {
    R = expansion->contract(R);
    return {expansion->gram(H, execution.thread_count()), R, Vector<double>::Ones(1), smallest_alpha, false, execution};
  }
  if (!outputs.identity()) R = R * outputs.root();
  return {std::move(H), R, eigenvalues(outputs, moments.outputs), smallest_alpha, false, execution};
}

// W^(1/2) K W^(1/2) and W^(1/2) (Y - origin) V
ShiftedPath dual_spectrum(Matrix<double> K, Matrix<double> Y, const Vector<double>& weights,
                          const Vector<double>& origin, const OutputFactor& outputs, const Execution& execution) {
  const Vector<double> roots = weights.cwiseSqrt();
  Y.rowwise() -= origin.transpose();
  Y = roots.asDiagonal() * Y;
  if (!outputs.identity()) Y = Matrix<double>(Y * outputs.vectors);
  K.array().colwise() *= roots.array();
  K.array().rowwise() *= roots.transpose().array();
  return {std::move(K), Y, eigenvalues(outputs, Y.cols()), 0, true, execution};
}

}  // namespace

PrimalPath::PrimalPath(const Moments& training, const OutputFactor& outputs, const Expansion* expansion,
                       bool fit_intercept, double smallest_alpha, const Execution& execution)
    : training_(training),
      expansion_(expansion),
      fit_intercept_(fit_intercept),
      execution_(execution),
      spectrum_(primal_spectrum(training, outputs, expansion, fit_intercept, smallest_alpha, execution)) {
  if (!expansion && !outputs.identity()) root_ = outputs.root();
}

Matrix<double> PrimalPath::coefficients(double alpha) const {
  const Matrix<double> theta = spectrum_.solve(alpha, execution_);
  if (expansion_) return expansion_->expand(theta);
  return root_.size() == 0 ? theta : Matrix<double>(theta * root_.transpose());
}

// With S, X, g, t, w the sums of phi phiᵀ, phi yᵀ, phi, y and 1 over the rows, y about the origin as b is:
// sum |Cᵀ phi + b - y|^2 = <C, S C - 2 X> + <b, 2 (Cᵀ g - t) + w b> + sum |y|^2
double PrimalPath::mean_loss(double alpha, const Moments& rows) const {
  const Index m = rows.features, p = rows.outputs;
  const Matrix<double> C = coefficients(alpha);
  Vector<double> b = Vector<double>::Zero(p);
  if (fit_intercept_) {
    b = (training_.target_sums() - training_.feature_sums() * C).transpose() / training_.total_weight();
  }
  Matrix<double> S = rows.sums.topLeftCorner(m, m);
  S.triangularView<Eigen::StrictlyUpper>() = S.transpose();
  const Matrix<double> inner = backend::product(Transpose::no, S, C, execution_) - 2 * rows.cross().transpose();
  const Vector<double> shift = (rows.feature_sums() * C - rows.target_sums()).transpose();
  const double sum =
      C.cwiseProduct(inner).sum() + b.dot(2 * shift + rows.total_weight() * b) + rows.sums.block(m, m, p, p).trace();
  return std::max(sum, 0.0) / (2 * rows.total_weight());
}

DualPath::DualPath(Matrix<double> K, const Matrix<double>& cross, Matrix<double> Y, const Vector<double>& weights,
                   const OutputFactor& outputs, bool fit_intercept, const Execution& execution)
    : outputs_(outputs),
      fit_intercept_(fit_intercept),
      origin_(fit_intercept ? Vector<double>(Y.transpose() * weights / weights.sum())
                            : Vector<double>(Vector<double>::Zero(Y.cols()))),
      spectrum_(dual_spectrum(std::move(K), std::move(Y), weights, origin_, outputs, execution)) {
  const Vector<double> roots = weights.cwiseSqrt();
  rotated_weights_ = spectrum_.vectors() * roots;
  const Matrix<double> weighted = cross * roots.asDiagonal();
  rotated_cross_.resize(cross.rows(), cross.cols());
  backend::gemm<double>(Transpose::no, Transpose::yes, cross.rows(), cross.cols(), cross.cols(), 1, weighted.data(),
                        weighted.cols(), spectrum_.vectors().data(), cross.cols(), 0, rotated_cross_.data(),
                        rotated_cross_.cols(), execution);
}

// Column j of f + b in the eigenbasis of A is delta_j K_* c_j + b_j. The intercept makes the rows' coefficients sum to
// zero, as in solvers/squared/squared_dual.cpp; where A is zero so is f, and the intercept is the mean, the origin.
Matrix<double> DualPath::predictions(double alpha) const {
  Matrix<double> x = spectrum_.rotated();
  Vector<double> b = Vector<double>::Zero(x.cols());
  for (Index j = 0; j < x.cols(); ++j) {
    const Vector<double> filter = spectrum_.filter(spectrum_.delta()[j], alpha);
    x.col(j).array() *= filter.array();
    if (fit_intercept_) {
      const Vector<double> ones = filter.cwiseProduct(rotated_weights_);
      b[j] = rotated_weights_.dot(x.col(j)) / rotated_weights_.dot(ones);
      x.col(j) -= b[j] * ones;
    }
    x.col(j) *= spectrum_.delta()[j];
  }
  Matrix<double> f = rotated_cross_ * x;
  f.rowwise() += b.transpose();
  if (!outputs_.identity()) f = Matrix<double>(f * outputs_.vectors.transpose());
  return f.rowwise() + origin_.transpose();
}

}  // namespace carmina
