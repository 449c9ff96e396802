// solvers/squared_primal.cpp -- squared loss in the coefficients of the features.
#include "row_sums.hpp"
#include "subset_preconditioner.hpp"

#include <carmina/core/error.hpp>

#include <cmath>

namespace carmina {
namespace {

Vector<double> eigenvalues(const OutputFactor& outputs, Index p) {
  return outputs.identity() ? Vector<double>(Vector<double>::Ones(p)) : outputs.delta;
}

// R B, and its reverse Theta Bᵀ
Matrix<double> times_root(const Matrix<double>& R, const OutputFactor& outputs) {
  return outputs.identity() ? R : Matrix<double>(R * outputs.root());
}
Matrix<double> expanded(const Matrix<double>& theta, const OutputFactor& outputs) {
  return outputs.identity() ? theta : Matrix<double>(theta * outputs.root().transpose());
}

// From the moments, whose Gram matrix is centred too when there is an intercept.
RowSums sums_of(Moments& moments, bool fit_intercept) {
  RowSums sums = row_sums_of(moments, fit_intercept);
  if (fit_intercept) {
    const Vector<double>& g = sums.feature_sums;
    for (Index i = 0; i < moments.features; ++i) {
      moments.sums.row(i).head(i + 1) -= g[i] / sums.weight * g.head(i + 1).transpose();
    }
  }
  return sums;
}

}  // namespace

LinearSolution solve_primal(Moments& moments, const SquaredLossProblem& problem, const Execution& execution,
                            SolveReport& report) {
  const RowSums sums = sums_of(moments, problem.fit_intercept);
  Matrix<double> R = times_root(sums.cross, problem.outputs);
  solve_shifted(moments.sums.data(), moments.features, moments.sums.outerStride(),
                eigenvalues(problem.outputs, moments.outputs), problem.alpha, R, execution, report);
  Vector<double> b =
      with_intercept(expanded(R, problem.outputs), sums, moments.origin, problem.fit_intercept).intercept;
  return {std::move(R), std::move(b)};
}

template <ScalarMap M>
LinearSolution solve_primal_cg(const M& map, RowSource<typename M::Scalar>& rows, Index rows_at_once,
                               const Vector<double>& origin, const SquaredLossProblem& problem,
                               const IterationOptions& options, const Execution& execution, SolveReport& report,
                               Index sample_rows) {
  const RowSums sums = stream_sums(map, rows, rows_at_once, origin, problem.fit_intercept, execution);
  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) {
    normal_product(map, rows, rows_at_once, sums, problem.fit_intercept, P, HP, execution);
  };
  const Vector<double> delta = eigenvalues(problem.outputs, rows.dim_out());
  Preconditioner precondition;
  const Index m = map.n_features();
  const auto budget = static_cast<double>(execution.memory_budget);
  const bool fits = execution.memory_budget == 0 || 16.0 * static_cast<double>(m) * static_cast<double>(m) < budget;
  if (sample_rows == 0) sample_rows = SubsetPreconditioner<M>::sample_rows(sums.rows, m);
  if (fits && sample_rows > 0) {
    precondition = SubsetPreconditioner<M>(map, rows, sums.rows, sample_rows, rows_at_once, problem.fit_intercept,
                                           delta.mean(), problem.alpha, execution);
  }
  Matrix<double> theta = solve_shifted_cg(product, delta, problem.alpha, times_root(sums.cross, problem.outputs),
                                          options, execution, report, precondition);
  Vector<double> b = with_intercept(expanded(theta, problem.outputs), sums, origin, problem.fit_intercept).intercept;
  return {std::move(theta), std::move(b)};
}

LinearSolution solve_expanded(Moments& moments, const Expansion& expansion, double alpha, bool fit_intercept,
                              const Execution& execution, SolveReport& report) {
  const RowSums sums = sums_of(moments, fit_intercept);
  const Index m = moments.features;
  Matrix<double> theta = expansion.contract(sums.cross);
  Matrix<double> H = expansion.gram(moments.sums.topLeftCorner(m, m), execution.thread_count());
  solve_shifted(H.data(), H.rows(), H.outerStride(), Vector<double>::Ones(1), alpha, theta, execution, report);
  return with_intercept(expansion.expand(theta), sums, moments.origin, fit_intercept);
}

template <ScalarMap M>
LinearSolution solve_expanded_cg(const M& map, const Expansion& expansion, RowSource<typename M::Scalar>& rows,
                                 Index rows_at_once, const Vector<double>& origin, double alpha, bool fit_intercept,
                                 const IterationOptions& options, const Execution& execution, SolveReport& report) {
  const RowSums sums = stream_sums(map, rows, rows_at_once, origin, fit_intercept, execution);
  Matrix<double> product_rows;
  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) {
    normal_product(map, rows, rows_at_once, sums, fit_intercept, expansion.expand(P), product_rows, execution);
    HP = expansion.contract(product_rows);
  };
  const Matrix<double> theta = solve_shifted_cg(product, Vector<double>::Ones(1), alpha, expansion.contract(sums.cross),
                                                options, execution, report);
  return with_intercept(expansion.expand(theta), sums, origin, fit_intercept);
}

#define CARMINA_INSTANTIATE(M)                                                                                  \
  template LinearSolution solve_primal_cg(const M&, RowSource<M::Scalar>&, Index, const Vector<double>&,        \
                                          const SquaredLossProblem&, const IterationOptions&, const Execution&, \
                                          SolveReport&, Index);                                                 \
  template LinearSolution solve_expanded_cg(const M&, const Expansion&, RowSource<M::Scalar>&, Index,           \
                                            const Vector<double>&, double, bool, const IterationOptions&,       \
                                            const Execution&, SolveReport&);
CARMINA_INSTANTIATE(FourierMap<float>)
CARMINA_INSTANTIATE(FourierMap<double>)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
