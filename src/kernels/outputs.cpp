// kernels/outputs.cpp -- the output matrices, checked.
#include "backends/tiled.hpp"

#include <carmina/core/error.hpp>
#include <carmina/kernels/coupling.hpp>

#include <cmath>

namespace carmina::outputs {
namespace {

Matrix<double> laplacian(const Matrix<double>& adjacency, const char* place) {
  require(adjacency.rows() == adjacency.cols() && adjacency.rows() > 0,
          "{}: the adjacency matrix must be square, found {} x {}", place, adjacency.rows(), adjacency.cols());
  require(adjacency.allFinite() && adjacency.minCoeff() >= 0, "{}: edge weights must be finite and not negative",
          place);
  require(adjacency.isApprox(adjacency.transpose(), 1e-12) || adjacency.isZero(0),
          "{}: the adjacency matrix must be symmetric", place);
  Matrix<double> L = -adjacency;
  L.diagonal() += adjacency.rowwise().sum();
  return L;
}

// U f(values) Uᵀ of a symmetric matrix.
template <class F>
Matrix<double> spectral(Matrix<double> A, F f) {
  Vector<double> values(A.rows());
  backend::symmetric_eigen(A.rows(), A.data(), A.cols(), values.data(), {.threads = 1});
  const double largest = values.cwiseAbs().maxCoeff();
  for (double& value : values) value = f(value, largest);
  return A.transpose() * values.asDiagonal() * A;
}

}  // namespace

Matrix<double> identity(Index p) {
  require(p >= 1, "outputs.identity: the number of outputs must be at least 1, found {}", p);
  return Matrix<double>::Identity(p, p);
}

Matrix<double> covariance(ConstView<double> Y) {
  require(Y.rows() >= 2, "outputs.covariance: Y needs at least 2 rows, found {}", Y.rows());
  require(Y.allFinite(), "outputs.covariance: Y holds a value that is missing or infinite");
  const Matrix<double> centred = Y.rowwise() - Y.colwise().mean();
  return centred.transpose() * centred / static_cast<double>(Y.rows() - 1);
}

Matrix<double> graph(const Matrix<double>& adjacency, double mu) {
  require(mu >= 0 && mu < 1, "outputs.graph: mu must be in [0, 1), since the Laplacian alone is singular; found {}",
          mu);
  return spectral(laplacian(adjacency, "outputs.graph"),
                  [mu](double value, double) { return 1 / (mu * std::max(value, 0.0) + 1 - mu); });
}

Matrix<double> graph_pinv(const Matrix<double>& adjacency) {
  const double size = static_cast<double>(adjacency.rows());
  return spectral(laplacian(adjacency, "outputs.graph_pinv"),
                  [size](double value, double largest) { return value <= size * 1e-14 * largest ? 0.0 : 1 / value; });
}

Matrix<double> quantiles(const std::vector<double>& levels, double gamma) {
  require(!levels.empty(), "outputs.quantiles: no levels given");
  require(gamma > 0 && std::isfinite(gamma), "outputs.quantiles: gamma must be positive and finite, found {}", gamma);
  for (const double level : levels) {
    require(level > 0 && level < 1, "outputs.quantiles: a level must be between 0 and 1, found {}", level);
  }
  const auto p = static_cast<Index>(levels.size());
  return Matrix<double>::NullaryExpr(p, p, [&](Index i, Index j) {
    const double gap = levels[static_cast<std::size_t>(i)] - levels[static_cast<std::size_t>(j)];
    return std::exp(-gamma * gap * gap);
  });
}

Matrix<double> simplex(Index n_classes) {
  require(n_classes >= 2, "outputs.simplex: at least 2 classes are needed, found {}", n_classes);
  const auto T = static_cast<double>(n_classes);
  return T / (T - 1) * (Matrix<double>::Identity(n_classes, n_classes).array() - 1 / T).matrix();
}

}  // namespace carmina::outputs
