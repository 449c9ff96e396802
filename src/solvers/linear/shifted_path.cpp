// solvers/linear/shifted_path.cpp -- tridiagonal form or eigenvectors, and the solutions for each alpha.
#include "solvers/linear/shifted_path.hpp"
#include "backends/tiled.hpp"

#include <cmath>
#include <limits>

namespace carmina {
namespace {

using backend::Transpose;

double rounding_of(const Vector<double>& values) {
  return static_cast<double>(values.size()) * std::numeric_limits<double>::epsilon() * values.cwiseAbs().maxCoeff();
}

}  // namespace

ShiftedPath::ShiftedPath(Matrix<double> H, const Matrix<double>& R, Vector<double> delta, double smallest_alpha,
                         bool want_vectors, const Execution& execution)
    : factor_(std::move(H)), delta_(std::move(delta)) {
  const Index m = factor_.rows();
  has_vectors_ = want_vectors || !tridiagonalise(smallest_alpha, execution);
  if (has_vectors_) {
    values_.resize(m);
    backend::symmetric_eigen(m, factor_.data(), factor_.outerStride(), values_.data(), execution);
    rotated_ = backend::product(Transpose::no, factor_, R, execution);
  } else {
    rotated_ = R;
    backend::apply_reflectors(Transpose::yes, m, R.cols(), factor_.data(), m, scales_.data(), rotated_.data(),
                              rotated_.cols(), execution);
  }
  rounding_ = rounding_of(values_);
  values_ = (values_.array() > rounding_).select(values_, 0.0);
}

// False, and H as it was, when delta H + alpha I may be singular to rounding.
bool ShiftedPath::tridiagonalise(double smallest_alpha, const Execution& execution) {
  const Index m = factor_.rows();
  factor_.triangularView<Eigen::StrictlyUpper>() = factor_.transpose();
  const Vector<double> own_diagonal = factor_.diagonal();
  diagonal_.resize(m), off_diagonal_ = Vector<double>::Zero(m), scales_.resize(m);
  backend::tridiagonalise(m, factor_.data(), m, diagonal_.data(), off_diagonal_.data(), scales_.data(), execution);
  values_ = diagonal_;
  Vector<double> spoilt = off_diagonal_;
  backend::tridiagonal_eigenvalues(m, values_.data(), spoilt.data());
  const double smallest = values_[0] - rounding_of(values_);
  if (delta_.size() == 0 || delta_.maxCoeff() * smallest + smallest_alpha > 0) return true;
  factor_.triangularView<Eigen::StrictlyLower>() = factor_.transpose();
  factor_.diagonal() = own_diagonal;
  return false;
}

// delta T + alpha I = L D Lᵀ, L with ones on its diagonal.
void ShiftedPath::solve_rotated(double alpha, Eigen::Ref<Matrix<double>, 0, Eigen::OuterStride<>> x) const {
  const Index m = rotated_.rows();
  Vector<double> pivots(m), below(m);
  for (Index j = 0; j < rotated_.cols(); ++j) {
    const double delta = delta_[j];
    if (has_vectors_) {
      x.col(j) = rotated_.col(j).cwiseProduct(filter(delta, alpha));
      continue;
    }
    x.col(j) = rotated_.col(j);
    pivots[0] = delta * diagonal_[0] + alpha;
    for (Index i = 1; i < m; ++i) {
      const double beside = delta * off_diagonal_[i - 1];
      below[i] = beside / pivots[i - 1];
      pivots[i] = delta * diagonal_[i] + alpha - below[i] * beside;
      x(i, j) -= below[i] * x(i - 1, j);
    }
    x(m - 1, j) /= pivots[m - 1];
    for (Index i = m - 2; i >= 0; --i) x(i, j) = x(i, j) / pivots[i] - below[i + 1] * x(i + 1, j);
  }
}

void ShiftedPath::rotate_back(Matrix<double>& x, const Execution& execution) const {
  if (has_vectors_) {
    x = backend::product(Transpose::yes, factor_, x, execution);
  } else {
    backend::apply_reflectors(Transpose::no, x.rows(), x.cols(), factor_.data(), x.rows(), scales_.data(), x.data(),
                              x.cols(), execution);
  }
}

std::vector<Matrix<double>> ShiftedPath::solve(const std::vector<double>& alphas, const Execution& execution) const {
  const Index q = rotated_.cols();
  Matrix<double> all(rotated_.rows(), q * static_cast<Index>(alphas.size()));
  for (std::size_t i = 0; i < alphas.size(); ++i)
    solve_rotated(alphas[i], all.middleCols(static_cast<Index>(i) * q, q));
  rotate_back(all, execution);
  std::vector<Matrix<double>> solutions;
  for (std::size_t i = 0; i < alphas.size(); ++i) solutions.emplace_back(all.middleCols(static_cast<Index>(i) * q, q));
  return solutions;
}

Matrix<double> ShiftedPath::solve(double alpha, const Execution& execution) const {
  return std::move(solve(std::vector<double>{alpha}, execution)[0]);
}

double ShiftedPath::degrees_of_freedom(double delta, double alpha) const {
  return (delta * values_.array() / (delta * values_.array() + alpha)).sum();
}

}  // namespace carmina
