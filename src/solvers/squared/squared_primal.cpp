// solvers/squared/squared_primal.cpp -- squared loss in the coefficients of the features.
#include "solvers/squared/row_sums.hpp"
#include "solvers/squared/subset_preconditioner.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

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

// Of the Gram matrix of features, which is centred by taking one of its own size off.
double largest_square(const Moments& moments) { return moments.sums.diagonal().head(moments.features).maxCoeff(); }
// `digits`: of the numbers that were added up, and that predictions are made with. Errors of many rows cancel for the
// most part; of few rows, coefficients of 1 / sqrt(digits) along a direction would be seen in predictions.
double rounding_of(const Moments& moments, double digits) {
  const double rows = std::max<double>(1, static_cast<double>(moments.rows));
  const double part = digits > std::numeric_limits<double>::epsilon() ? 16 * digits / std::sqrt(rows) : digits;
  return std::max(std::numeric_limits<double>::epsilon(), part) * largest_square(moments);
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
                            SolveReport& report, const FactorUse& use, double digits) {
  const double rounding = rounding_of(moments, digits);
  const RowSums sums = sums_of(moments, problem.fit_intercept);
  Matrix<double> R = times_root(sums.cross, problem.outputs);
  solve_shifted(moments.sums.data(), moments.features, moments.sums.outerStride(),
                eigenvalues(problem.outputs, moments.outputs), problem.alpha, R, execution, report, use, rounding);
  Vector<double> b =
      with_intercept(expanded(R, problem.outputs), sums, moments.origin, problem.fit_intercept).intercept;
  return {std::move(R), std::move(b)};
}

LinearSolution solve_primal_cg(const FeatureRows& rows, const Vector<double>& origin, const SquaredLossProblem& problem,
                               Index subset_rows, const IterationOptions& options, const Execution& execution,
                               SolveReport& report) {
  RowSums sums = rows.sums(origin);
  if (problem.fit_intercept) sums.centre();
  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) {
    normal_product(rows, sums, problem.fit_intercept, P, HP);
  };
  const Vector<double> delta = eigenvalues(problem.outputs, rows.outputs());
  Preconditioner precondition;
  if (subset_rows > 0) {
    precondition = SubsetPreconditioner(rows, subset_rows, sums.weight, problem.fit_intercept, delta.mean(),
                                        problem.alpha, execution);
  }
  Matrix<double> theta = solve_shifted_cg(product, delta, problem.alpha, times_root(sums.cross, problem.outputs),
                                          options, execution, report, precondition);
  Vector<double> b = with_intercept(expanded(theta, problem.outputs), sums, origin, problem.fit_intercept).intercept;
  return {std::move(theta), std::move(b)};
}

LinearSolution solve_expanded(Moments& moments, const Expansion& expansion, double alpha, bool fit_intercept,
                              const Execution& execution, SolveReport& report, const FactorUse& use, double digits) {
  const double rounding = rounding_of(moments, digits);
  const RowSums sums = sums_of(moments, fit_intercept);
  const Index m = moments.features;
  Matrix<double> theta = expansion.contract(sums.cross);
  Matrix<double> H = expansion.gram(moments.sums.topLeftCorner(m, m), execution.thread_count());
  const double own = largest_square(moments), grown = own > 0 ? H.diagonal().maxCoeff() / own : 0.0;
  solve_shifted(H.data(), H.rows(), H.outerStride(), Vector<double>::Ones(1), alpha, theta, execution, report, use,
                grown * rounding);
  return with_intercept(expansion.expand(theta), sums, moments.origin, fit_intercept);
}

LinearSolution solve_expanded_cg(const FeatureRows& rows, const Expansion& expansion, const Vector<double>& origin,
                                 double alpha, bool fit_intercept, const IterationOptions& options,
                                 const Execution& execution, SolveReport& report) {
  RowSums sums = rows.sums(origin);
  if (fit_intercept) sums.centre();
  Matrix<double> product_rows;
  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) {
    normal_product(rows, sums, fit_intercept, expansion.expand(P), product_rows);
    HP = expansion.contract(product_rows);
  };
  const Matrix<double> theta = solve_shifted_cg(product, Vector<double>::Ones(1), alpha, expansion.contract(sums.cross),
                                                options, execution, report);
  return with_intercept(expansion.expand(theta), sums, origin, fit_intercept);
}

}  // namespace carmina
