// solvers/evidence/mixture_exact.cpp -- the Gaussian process itself: one Cholesky factor of the n x n covariance, in
// place.
#include "backends/tiled.hpp"
#include "solvers/evidence/mixture_checks.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

constexpr Index exact_rows_at_once = 256;

// Calls body(first, count) for blocks of rows of the lower triangle.
template <class Body>
void over_rows(Index n, const Body& body) {
  for (Index first = 0; first < n; first += exact_rows_at_once) body(first, std::min(exact_rows_at_once, n - first));
}

// L Lᵀ = K + noise diag(1 / weights). Where rounding leaves that indefinite, a part of the mean diagonal, sum w +
// noise, is added to it.
struct Covariance {
  Matrix<double> L;   // lower triangle; what is above it has no meaning
  double jitter = 0;  // part that was added

  Covariance(const Mixture& mixture, double noise, ConstView<double> X, const Vector<double>& weights,
             const Execution& execution)
      : L(X.rows(), X.rows()) {
    const double diagonal = mixture.weights.sum() + noise;
    for (const double part : std::array{0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6}) {
      over_rows(X.rows(), [&](Index first, Index count) {
        mixture_values(mixture, X.middleRows(first, count), X.topRows(first + count),
                       L.block(first, 0, count, first + count), execution);
      });
      if (weights.size() > 0) {
        L.diagonal().array() += noise / weights.array() + part * diagonal;
      } else {
        L.diagonal().array() += noise + part * diagonal;
      }
      jitter = part;
      if (backend::cholesky(L.rows(), L.data(), L.outerStride(), execution)) return;
    }
    fail(
        "exact process: the covariance of {} rows is not positive definite, even with {} of its diagonal added; "
        "a larger noise is needed",
        X.rows(), jitter);
  }

  // (L Lᵀ)^-1 Y
  Matrix<double> solve(ConstView<double> Y, const Execution& execution) const {
    Matrix<double> alpha = Y;
    backend::cholesky_solve(L.rows(), alpha.cols(), L.data(), L.outerStride(), alpha.data(), alpha.outerStride(),
                            execution);
    return alpha;
  }
};

}  // namespace

MixtureEvidence exact_evidence(const Mixture& mixture, double noise, ConstView<double> X, ConstView<double> Y,
                               bool gradient, const Execution& execution, const Vector<double>& weights) {
  check_process("exact process", mixture, noise, X, Y, weights);
  const Index n = X.rows();
  const auto p = static_cast<double>(Y.cols());
  Covariance covariance(mixture, noise, X, weights, execution);
  const Matrix<double> alpha = covariance.solve(Y, execution);
  MixtureEvidence evidence;
  evidence.value = -alpha.cwiseProduct(Y).sum() / 2 - p * covariance.L.diagonal().array().log().sum() -
                   p * static_cast<double>(n) / 2 * std::log(2 * std::numbers::pi) +
                   repetition_constant(weights, noise, p);
  evidence.by_mixture = zero_like(mixture);
  if (!gradient) return evidence;

  // dlog p / dC = G = (alpha alphaᵀ - p C^-1) / 2, its lower triangle in the place of L
  Matrix<double>& G = covariance.L;
  {
    const Matrix<double> rows = alpha.transpose();
    backend::cholesky_inverse(n, G.data(), G.outerStride(), execution);
    backend::gram<double>(n, rows.rows(), 0.5, rows.data(), rows.outerStride(), -p / 2, G.data(), G.outerStride());
  }
  const double trace = G.trace();
  evidence.by_noise = (1 + covariance.jitter) * trace;
  if (weights.size() > 0) {
    const double of_rows = (G.diagonal().array() / weights.array()).sum();
    evidence.by_noise = of_rows + covariance.jitter * trace - p * (weights.array() - 1).sum() / (2 * noise);
  }
  // Derivatives by parameters are the same for (i, j) and (j, i): each pair once, with both entries of G.
  over_rows(n, [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      G.row(i).head(i) *= 2;
      G.row(i).segment(i + 1, first + count - i - 1).setZero();
    }
    mixture_gradient(mixture, X.middleRows(first, count), X.topRows(first + count),
                     G.block(first, 0, count, first + count), evidence.by_mixture, nullptr, execution);
  });
  evidence.by_mixture.weights.array() += covariance.jitter * trace;
  return evidence;
}

MixtureProcess exact_process(const Mixture& mixture, double noise, ConstView<double> X, ConstView<double> Y,
                             const Execution& execution, const Vector<double>& weights) {
  check_process("exact process", mixture, noise, X, Y, weights);
  Covariance covariance(mixture, noise, X, weights, execution);
  Matrix<double> alpha = covariance.solve(Y, execution);
  covariance.L.triangularView<Eigen::StrictlyUpper>().setZero();
  return {X, std::move(alpha), std::move(covariance.L), {}};
}

}  // namespace carmina
