// solvers/evidence/fourier_posterior.cpp -- predictions, their covariance and draws of whole functions, from the
// posterior of beta.
#include "backends/blas.hpp"
#include "features/map_operations.hpp"
#include "solvers/evidence/frequency_factors.hpp"

#include <carmina/core/error.hpp>
#include <carmina/random/philox.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

constexpr Index tile_rows = 16;

// Column a: E_a beta, what output a multiplies the map's features with.
Matrix<double> output_coefficients(const FrequencyFactors& factors, const Vector<double>& beta, Index p) {
  Matrix<double> Theta(factors.features(), p);
  for (Index a = 0; a < p; ++a) Theta.col(a) = factors.contract(beta.transpose(), a).row(0).transpose();
  return Theta;
}

template <Real T>
Matrix<double> apply_map(const FourierMap<T>& map, ConstView<T> X, const Matrix<double>& Theta,
                         const Execution& execution) {
  Matrix<T> out(X.rows(), Theta.cols());
  const Matrix<T>& theta = Theta.cast<T>();
  apply(map, X, ConstView<T>(theta), View<T>(out), execution);
  return out.template cast<double>();
}

}  // namespace

template <Real T>
void predict_fourier(const WeightedFrequencies& at, const FourierPosterior& posterior, ConstView<T> X,
                     Matrix<double>& mean, Matrix<double>* covariance, const Execution& execution) {
  require(X.cols() == at.W.cols(), "predict: X has {} columns, the model takes {}", X.cols(), at.W.cols());
  const FourierMap<T> map(at.W.template cast<T>());
  const FrequencyFactors factors(at, std::sqrt(static_cast<double>(at.size())));
  const Index n = X.rows(), p = at.dim_out(), m = map.n_features(), r = factors.columns();
  mean = apply_map(map, X, output_coefficients(factors, posterior.beta, p), execution);
  if (!covariance) return;

  // Psi_a A^-1 Psi_bᵀ = (L^-1 Psi_aᵀ)ᵀ (L^-1 Psi_bᵀ). Solves have one width, filled up with zeros, and sums go from the
  // first entry to the last: a row has the same bits whatever stands beside it.
  covariance->resize(n, p * p);
  parallel_for((n + tile_rows - 1) / tile_rows, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * tile_rows, rows = std::min(tile_rows, n - first);
    Matrix<T> F(rows, m);
    const T* x = X.data() + first * X.outerStride();
    evaluate_few(map, x, X.outerStride(), rows, F.data(), m);
    const Matrix<double> wide = F.template cast<double>();
    Matrix<double> turned = Matrix<double>::Zero(r, tile_rows * p);  // column (a, i): Psi_a of row i
    for (Index a = 0; a < p; ++a) turned.middleCols(a * tile_rows, rows) = factors.expand(wide, a).transpose();
    backend::lower_solve(r, tile_rows * p, posterior.L.data(), r, turned.data(), tile_rows * p);
    for (Index a = 0; a < p; ++a) {
      for (Index b = 0; b <= a; ++b) {
        Vector<double> products = Vector<double>::Zero(rows);
        for (Index k = 0; k < r; ++k) {
          for (Index i = 0; i < rows; ++i) products[i] += turned(k, a * tile_rows + i) * turned(k, b * tile_rows + i);
        }
        covariance->col(a * p + b).segment(first, rows) = products;
        covariance->col(b * p + a).segment(first, rows) = products;
      }
    }
  });
}

template <Real T>
std::vector<Matrix<double>> sample_fourier(const WeightedFrequencies& at, const FourierPosterior& posterior,
                                           ConstView<T> X, Index draws, std::uint64_t seed,
                                           const Execution& execution) {
  require(X.cols() == at.W.cols(), "sample: X has {} columns, the model takes {}", X.cols(), at.W.cols());
  const FourierMap<T> map(at.W.template cast<T>());
  const FrequencyFactors factors(at, std::sqrt(static_cast<double>(at.size())));
  const Random random(seed, Stream::posterior_draws);
  std::vector<Matrix<double>> out;
  for (Index k = 0; k < draws; ++k) {
    Vector<double> z(factors.columns());
    for (Index i = 0; i < z.size(); ++i) {
      z[i] = random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(k));
    }
    posterior.L.triangularView<Eigen::Lower>().transpose().solveInPlace(z);  // L^-T z has covariance A^-1
    out.push_back(apply_map(map, X, output_coefficients(factors, posterior.beta + z, at.dim_out()), execution));
  }
  return out;
}

#define CARMINA_INSTANTIATE(T)                                                                                      \
  template void predict_fourier(const WeightedFrequencies&, const FourierPosterior&, ConstView<T>, Matrix<double>&, \
                                Matrix<double>*, const Execution&);                                                 \
  template std::vector<Matrix<double>> sample_fourier(const WeightedFrequencies&, const FourierPosterior&,          \
                                                      ConstView<T>, Index, std::uint64_t, const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
