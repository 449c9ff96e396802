// solvers/evidence/fourier_evidence_targets.cpp -- evidence by the matrix of targets, for fewer targets than features.
//
// Psi (N, r) holds a row for each target that is there. C = Psi Psiᵀ + diag(v), alpha = C^-1 y:
//   log p = -1/2 yᵀ alpha - 1/2 log |C| - N/2 log 2 pi,   dlog p / dPsi = (alpha alphaᵀ - C^-1) Psi.
#include "backends/tiled.hpp"
#include "features/map_operations.hpp"
#include "solvers/evidence/fourier_evidence.hpp"
#include "solvers/evidence/frequency_factors.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace carmina {

template <Real T>
double FourierEvidence<T>::by_targets(const WeightedFrequencies& at, WeightedFrequencies* gradient,
                                      const Execution& execution) const {
  using backend::Transpose;
  check(at);
  constexpr double nowhere = -std::numeric_limits<double>::infinity();
  require(groups_.front().weights.size() == 0, "evidence: by targets, rows have no weights");
  if (!in_range(at)) return nowhere;
  const FourierMap<T> map(at.W.template cast<T>());
  const FrequencyFactors factors(at, std::sqrt(static_cast<double>(at.size())));
  const Index m = map.n_features(), M = map.units(), r = factors.columns(), N = targets_;

  Matrix<double> Psi(N, r);
  Vector<double> y(N), noise(N);
  std::vector<Matrix<double>> features;  // F of each group
  Index first = 0;
  for (const Group& group : groups_) {
    const Index n = group.X.rows();
    Matrix<T> F(n, m);
    evaluate(map, group.X, View<T>(F), execution);
    features.push_back(F.template cast<double>());
    for (std::size_t k = 0; k < group.outputs.size(); ++k, first += n) {
      const Index a = group.outputs[k];
      Psi.middleRows(first, n) = factors.expand(features.back(), a);
      y.segment(first, n) = group.Y.col(static_cast<Index>(k)).template cast<double>();
      noise.segment(first, n).setConstant(at.noise[a]);
    }
  }
  Matrix<double> C(N, N);
  backend::gemm<double>(Transpose::no, Transpose::yes, N, N, r, 1, Psi.data(), r, Psi.data(), r, 0, C.data(), N,
                        execution);
  C.diagonal() += noise;
  if (!C.allFinite() || !backend::cholesky(N, C.data(), N, execution)) return nowhere;
  Vector<double> alpha = y;
  backend::cholesky_solve(N, 1, C.data(), N, alpha.data(), 1, execution);
  const double value = -y.dot(alpha) / 2 - C.diagonal().array().log().sum() -
                       static_cast<double>(N) / 2 * std::log(2 * std::numbers::pi);
  if (!gradient || !std::isfinite(value)) return std::isfinite(value) ? value : nowhere;

  *gradient = at.zeros();
  Matrix<double> weight = Matrix<double>::Identity(N, N);  // -> alpha alphaᵀ - C^-1
  backend::cholesky_solve(N, N, C.data(), N, weight.data(), N, execution);
  weight = alpha * alpha.transpose() - weight;
  Matrix<double> G(N, r);
  backend::gemm<double>(Transpose::no, Transpose::no, N, r, N, 1, weight.data(), N, Psi.data(), r, 0, G.data(), r,
                        execution);
  first = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    const Matrix<double>& F = features[g];
    const Index n = group.X.rows();
    for (const Index a : group.outputs) {
      const Matrix<double> part = G.middleRows(first, n), U = factors.contract(part, a);
      const Matrix<double> V = U.rightCols(M).cwiseProduct(F.leftCols(M)) - U.leftCols(M).cwiseProduct(F.rightCols(M));
      gradient->W += V.transpose() * group.X.template cast<double>();
      factors.add_gradient(a, [&](Index row, Index column) { return F.col(row).dot(part.col(column)); }, *gradient);
      gradient->noise[a] += weight.diagonal().segment(first, n).sum() / 2;
      first += n;
    }
  }
  return value;
}

template double FourierEvidence<float>::by_targets(const WeightedFrequencies&, WeightedFrequencies*,
                                                   const Execution&) const;
template double FourierEvidence<double>::by_targets(const WeightedFrequencies&, WeightedFrequencies*,
                                                    const Execution&) const;

}  // namespace carmina
