// models/machine/posterior_factors.cpp -- Cholesky factors, triangular systems and directions of outputs for
// posteriors.
#include "models/machine/posterior_factors.hpp"

#include "backends/tiled.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace carmina::posterior {

Matrix<double> factor(Matrix<double> H, double delta, double alpha, const Vector<double>& weights,
                      const Execution& execution) {
  H *= delta;
  for (Index i = 0; i < H.rows(); ++i) H(i, i) += weights.size() > 0 ? alpha / weights[i] : alpha;
  require(backend::cholesky(H.rows(), H.data(), H.outerStride(), execution),
          "variance: the system is singular to rounding; a larger alpha is needed");
  return H;
}

Matrix<double> solved(const Matrix<double>& L, const Matrix<double>& R, const Execution& execution) {
  constexpr Index together = 16;
  Matrix<double> Z(R.rows(), R.cols());
  parallel_for((R.cols() + together - 1) / together, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * together, count = std::min(together, R.cols() - first);
    Matrix<double> panel = Matrix<double>::Zero(R.rows(), together);
    panel.leftCols(count) = R.middleCols(first, count);
    backend::lower_solve(L.rows(), together, L.data(), L.outerStride(), panel.data(), together);
    Z.middleCols(first, count) = panel.leftCols(count);
  });
  return Z;
}

Vector<double> products_with_columns(const Vector<double>& a, const Matrix<double>& Z) {
  Vector<double> out = Vector<double>::Zero(Z.cols());
  for (Index i = 0; i < Z.rows(); ++i) {
    for (Index j = 0; j < Z.cols(); ++j) out[j] += a[i] * Z(i, j);
  }
  return out;
}

Vector<double> squares_of_columns(const Matrix<double>& Z) {
  Vector<double> out = Vector<double>::Zero(Z.cols());
  for (Index i = 0; i < Z.rows(); ++i) {
    for (Index j = 0; j < Z.cols(); ++j) out[j] += Z(i, j) * Z(i, j);
  }
  return out;
}

Directions::Directions(const OutputFactor& outputs, Index p) {
  for (Index j = 0; j < outputs.rank(p); ++j) {
    const double delta = outputs.eigenvalue(j);
    std::size_t k = 0;
    while (k < deltas.size() && std::abs(deltas[k] - delta) > 1e-14 * delta) ++k;
    if (k == deltas.size()) deltas.push_back(delta);
    which.push_back(k);
  }
}

Matrix<double> from_directions(const OutputFactor& outputs, const Matrix<double>& variances, Index p) {
  Matrix<double> out = Matrix<double>::Zero(variances.rows(), p * p);
  for (Index i = 0; i < variances.rows(); ++i) {
    Eigen::Map<Matrix<double>> block(out.row(i).data(), p, p);
    if (outputs.identity()) {
      block.diagonal() = variances.row(i).transpose();
    } else {
      block = outputs.vectors * variances.row(i).transpose().asDiagonal() * outputs.vectors.transpose();
    }
  }
  return out;
}

Vector<double> direction(const OutputFactor& outputs, Index j, Index p) {
  return outputs.identity() ? Vector<double>(Vector<double>::Unit(p, j)) : Vector<double>(outputs.vectors.col(j));
}

Vector<double> normals(const Random& stream, Index count, Index j) {
  return Vector<double>::NullaryExpr(
      count, [&](Index i) { return stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j)); });
}

}  // namespace carmina::posterior
