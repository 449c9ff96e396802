// theory/cost.cpp -- times the operators as the solvers use them: factors outside, products over rows inside.
#include "backends/blas.hpp"
#include "features/expansion.hpp"
#include "features/feature_rows.hpp"
#include "theory/terms.hpp"

#include <carmina/theory/approximation.hpp>

#include <algorithm>
#include <chrono>
#include <limits>

namespace carmina::theory {
namespace {

template <class Body>
double best_of(int repetitions, const Body& body) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

// F = [C S] Theta Bᵀ, mathematics.md 1c: the outputs' factor is applied to p' columns, not to every frequency.
OperatorCost separable_cost(const FourierMap<double>& map, const Matrix<double>& B, ConstView<double> X,
                            int repetitions, const Execution& execution) {
  const Index n = X.rows(), rank = B.cols();
  const Matrix<double> theta = Matrix<double>::Random(map.n_features(), rank), Y = Matrix<double>::Random(n, B.rows());
  Matrix<double> G(n, rank), F(n, B.rows()), sums(map.n_features(), rank);
  OperatorCost cost;
  MemoryRows<double> memory(X);
  const DataRows<double> rows(memory);
  const auto door = rows_of(map, rows, FeatureStorage::none, execution);
  cost.apply = best_of(repetitions, [&] {
    apply(map, X, theta, View<double>(G), execution);
    F.noalias() = G * B.transpose();
  });
  cost.adjoint = best_of(repetitions, [&] {
    G.noalias() = Y * B;
    door->adjoint(G, sums);
  });
  // phiᵀ phi Theta BᵀB
  cost.normal = best_of(repetitions, [&] { door->normal(theta * (B.transpose() * B), sums); });
  cost.stored = static_cast<std::size_t>(map.frequencies().size() + B.size()) * sizeof(double);
  return cost;
}

OperatorCost expanded_cost(const FourierMap<double>& map, const Expansion& expansion, ConstView<double> X,
                           int repetitions, const Execution& execution) {
  const Index p = expansion.dim_out();
  const Matrix<double> theta = Matrix<double>::Random(expansion.dim_coef(), 1), Y = Matrix<double>::Random(X.rows(), p);
  Matrix<double> F(X.rows(), p), sums(map.n_features(), p), gradient;
  OperatorCost cost;
  MemoryRows<double> memory(X);
  const DataRows<double> rows(memory);
  const auto door = rows_of(map, rows, FeatureStorage::none, execution);
  cost.apply = best_of(repetitions, [&] { apply(map, X, expansion.expand(theta), View<double>(F), execution); });
  cost.adjoint = best_of(repetitions, [&] {
    door->adjoint(Y, sums);
    gradient = expansion.contract(sums);
  });
  cost.normal = best_of(repetitions, [&] {
    door->normal(expansion.expand(theta), sums);
    gradient = expansion.contract(sums);
  });
  cost.stored = static_cast<std::size_t>(map.frequencies().size()) * sizeof(double);  // B_j follows from w_j
  return cost;
}

}  // namespace

OperatorCost operator_cost(const Kernel& kernel, Index n_components, ConstView<double> X, int repetitions,
                           const Execution& execution) {
  require(X.rows() > 0 && repetitions > 0, "operator_cost: {} rows and {} repetitions; both must be positive", X.rows(),
          repetitions);
  const Index p = outputs_of(kernel, X.cols());
  const Matrix<double> W = sample_term_frequencies(kernel, X.cols(), n_components, 0);
  const FourierMap<double> map(W);
  if (const Term* term = kernel.separable()) {
    const Matrix<double> B = OutputFactors(term->coupling, p).factor(0, nullptr);
    return separable_cost(map, B, X, repetitions, execution);
  }
  return expanded_cost(map, Expansion(kernel, W, p), X, repetitions, execution);
}

}  // namespace carmina::theory
