// solvers/evidence/mixture_prediction.cpp -- mean and covariance at new rows, of an exact process or one of inducing
// points.
#include "backends/tiled.hpp"
#include "solvers/evidence/mixture_checks.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <algorithm>

namespace carmina {
namespace {

constexpr Index predicted_at_once = 512;

void check_prediction(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X) {
  const Index m = process.anchors.rows();
  require(process.coefficients.rows() == m && process.L.rows() == m && process.L.cols() == m &&
              (process.LB.size() == 0 || (process.LB.rows() == m && process.LB.cols() == m)),
          "predict: the process has {} anchors, its coefficients or factors another size", m);
  require(X.cols() == mixture.dim_in(), "predict: the mixture has {} input dimensions, X has {} columns",
          mixture.dim_in(), X.cols());
}

// k(anchors, X), then L^-1 of it, then LB^-1 of that: what each adds to a covariance comes between.
struct Columns {
  Matrix<double> V;  // (anchors, rows)

  Columns(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X, const Execution& execution)
      : V(process.anchors.rows(), X.rows()) {
    mixture_values(mixture, process.anchors, X, V, execution);
  }
  void solve(const Matrix<double>& factor, const Execution& execution) {
    backend::lower_solve(factor.rows(), V.cols(), factor.data(), factor.outerStride(), V.data(), V.outerStride(),
                         execution);
  }
};

}  // namespace

void predict_process(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X, Matrix<double>& mean,
                     Vector<double>& variance, const Execution& execution) {
  check_prediction(mixture, process, X);
  const Index n = X.rows();
  mean.resize(n, process.coefficients.cols());
  variance.setConstant(n, mixture.weights.sum());
  for (Index first = 0; first < n; first += predicted_at_once) {
    const Index count = std::min(predicted_at_once, n - first);
    execution.checkpoint({"predicting", first, n});
    Columns columns(mixture, process, X.middleRows(first, count), execution);
    mean.middleRows(first, count).noalias() = columns.V.transpose() * process.coefficients;
    columns.solve(process.L, execution);
    variance.segment(first, count) -= columns.V.colwise().squaredNorm().transpose();
    if (process.LB.size() == 0) continue;
    columns.solve(process.LB, execution);
    variance.segment(first, count) += columns.V.colwise().squaredNorm().transpose();
  }
  variance = variance.cwiseMax(0);  // rounding at rows that the data determines
}

Matrix<double> process_covariance(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X,
                                  const Execution& execution) {
  check_prediction(mixture, process, X);
  const Index n = X.rows();
  Matrix<double> covariance(n, n);
  mixture_values(mixture, X, X, covariance, execution);
  Columns columns(mixture, process, X, execution);
  const auto add_gram = [&](double sign) {
    backend::gram<double>(n, columns.V.rows(), sign, columns.V.data(), columns.V.outerStride(), 1.0, covariance.data(),
                          covariance.outerStride());
  };
  columns.solve(process.L, execution);
  add_gram(-1);
  if (process.LB.size() > 0) {
    columns.solve(process.LB, execution);
    add_gram(1);
  }
  covariance.triangularView<Eigen::StrictlyUpper>() = covariance.transpose();
  return covariance;
}

}  // namespace carmina
