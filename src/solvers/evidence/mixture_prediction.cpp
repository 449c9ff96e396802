// solvers/evidence/mixture_prediction.cpp -- mean and covariance at new rows, of an exact process or one of inducing
// points.
#include "backends/tiled.hpp"
#include "backends/vector_math.hpp"
#include "solvers/evidence/mixture_checks.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <algorithm>

namespace carmina {
namespace {

constexpr Index predicted_at_once = 512;
constexpr Index solved_together = 16;

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

  Columns(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X, const Execution& execution) {
    Matrix<double> K(X.rows(), process.anchors.rows());
    mixture_values(mixture, X, process.anchors, K, execution);
    V = K.transpose();
  }
  void solve(const Matrix<double>& factor, const Execution& execution) {
    backend::lower_solve(factor.rows(), V.cols(), factor.data(), factor.outerStride(), V.data(), V.outerStride(),
                         execution);
  }
};

// Blocks of K = k(X, anchors), and their rows of the mean; then body(first, K).
template <class Body>
void over_means(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X, Matrix<double>& mean,
                const Execution& execution, const Body& body) {
  check_prediction(mixture, process, X);
  const Index n = X.rows(), m = process.anchors.rows();
  mean.setZero(n, process.coefficients.cols());
  const Matrix<double> turned = process.coefficients.transpose();  // (p, anchors)
  for (Index first = 0; first < n; first += predicted_at_once) {
    const Index count = std::min(predicted_at_once, n - first);
    execution.checkpoint({"predicting", first, n});
    Matrix<double> K(count, m);
    mixture_values(mixture, X.middleRows(first, count), process.anchors, K, execution);
    backend::add_product_few(K.data(), m, count, m, turned.data(), m, turned.rows(), mean.row(first).data(),
                             mean.outerStride());
    body(first, K);
  }
}

}  // namespace

Matrix<double> process_mean(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X,
                            const Execution& execution) {
  Matrix<double> mean;
  over_means(mixture, process, X, mean, execution, [](Index, const Matrix<double>&) {});
  return mean;
}

void predict_process(const Mixture& mixture, const MixtureProcess& process, ConstView<double> X, Matrix<double>& mean,
                     Vector<double>& variance, const Execution& execution) {
  variance.setConstant(X.rows(), mixture.weights.sum());
  over_means(mixture, process, X, mean, execution, [&](Index first, const Matrix<double>& K) {
    const Index count = K.rows(), m = K.cols();
    // Panels of one width, filled up with zeros: each row is solved for as it would be alone.
    parallel_for(
        (count + solved_together - 1) / solved_together, execution.thread_count(), [&](Index task, int worker) {
          execution.poll(worker);
          const Index begin = task * solved_together, rows = std::min(solved_together, count - begin);
          Matrix<double> V = Matrix<double>::Zero(m, solved_together);
          V.leftCols(rows) = K.middleRows(begin, rows).transpose();
          const auto add = [&](const Matrix<double>& factor, double sign) {
            backend::lower_solve(m, solved_together, factor.data(), factor.outerStride(), V.data(), solved_together);
            for (Index i = 0; i < rows; ++i) {
              double square = 0;
              for (Index j = 0; j < m; ++j) square += V(j, i) * V(j, i);
              variance[first + begin + i] += sign * square;
            }
          };
          add(process.L, -1);
          if (process.LB.size() > 0) add(process.LB, 1);
        });
  });
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
