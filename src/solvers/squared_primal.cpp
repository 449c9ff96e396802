// solvers/squared_primal.cpp -- squared loss in the coefficients of the features.
#include <carmina/core/error.hpp>
#include <carmina/solvers/squared_loss.hpp>

#include <cmath>

namespace carmina {
namespace {

Vector<double> eigenvalues(const OutputFactor& outputs, Index p) {
  return outputs.identity() ? Vector<double>(Vector<double>::Ones(p)) : outputs.delta;
}

Matrix<double> times_root(Matrix<double> columns, const OutputFactor& outputs) {
  return outputs.identity() ? columns : Matrix<double>(columns * outputs.root());
}

// b = origin + (1ᵀW(Y - origin) - 1ᵀW phi Theta Bᵀ) / 1ᵀW1
Vector<double> intercept_of(const Matrix<double>& theta, const Vector<double>& feature_sums,
                            const Vector<double>& target_sums, double weight, const Vector<double>& origin,
                            const OutputFactor& outputs) {
  Vector<double> f = theta.transpose() * feature_sums;
  if (!outputs.identity()) f = (outputs.root() * f).eval();
  return origin + (target_sums - f) / weight;
}

}  // namespace

LinearSolution solve_primal(Moments& moments, const SquaredLossProblem& problem, const Execution& execution,
                            SolveReport& report) {
  const Index m = moments.features, p = moments.outputs;
  const double weight = moments.total_weight();
  const Vector<double> g = moments.feature_sums().transpose(), t = moments.target_sums().transpose();
  Matrix<double> R = moments.cross().transpose();
  if (problem.fit_intercept) {
    // Sums about the weighted mean: G - g gᵀ / W, phiᵀWY - g tᵀ / W.
    R.noalias() -= g * t.transpose() / weight;
    for (Index i = 0; i < m; ++i) moments.sums.row(i).head(i + 1) -= g[i] / weight * g.head(i + 1).transpose();
  }
  R = times_root(std::move(R), problem.outputs);
  solve_shifted(moments.sums.data(), m, moments.sums.outerStride(), eigenvalues(problem.outputs, p), problem.alpha, R,
                execution, report);
  Vector<double> b = Vector<double>::Zero(p);
  if (problem.fit_intercept) b = intercept_of(R, g, t, weight, moments.origin, problem.outputs);
  return {std::move(R), std::move(b)};
}

template <ScalarMap M>
LinearSolution solve_primal_cg(const M& map, RowSource<typename M::Scalar>& rows, Index rows_at_once,
                               const Vector<double>& origin, const SquaredLossProblem& problem,
                               const CgOptions& options, const Execution& execution, SolveReport& report) {
  using T = typename M::Scalar;
  const Index m = map.n_features(), p = rows.dim_out();
  // phiᵀW[Y - origin, 1] in one pass.
  Matrix<double> sums = Matrix<double>::Zero(m, p + 1);
  Vector<double> t = Vector<double>::Zero(p);
  double weight = 0;
  rows.rewind();
  for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
    Matrix<T> residual(block.rows, p + 1);
    for (Index i = 0; i < block.rows; ++i) {
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
      const Vector<double> y = block.targets().row(i).transpose().template cast<double>() - origin;
      residual.row(i).head(p) = (w * y).transpose().template cast<T>();
      residual(i, p) = static_cast<T>(w);
      t += w * y;
      weight += w;
    }
    adjoint(map, block.inputs(), residual, sums, execution);
    execution.checkpoint({"summing", block.first_row + block.rows, rows.rows().value_or(0)});
  }
  const Vector<double> g = sums.col(p);
  Matrix<double> R = sums.leftCols(p);
  if (problem.fit_intercept) R.noalias() -= g * t.transpose() / weight;
  R = times_root(std::move(R), problem.outputs);

  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) {
    const Matrix<T> direction = P.cast<T>();
    HP.setZero(m, P.cols());
    rows.rewind();
    for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
      normal_operator(map, block.inputs(), block.weights, direction, HP, execution);
    }
    if (problem.fit_intercept) HP.noalias() -= g / weight * (g.transpose() * P);
  };
  Matrix<double> theta =
      solve_shifted_cg(product, eigenvalues(problem.outputs, p), problem.alpha, R, options, execution, report);
  Vector<double> b = Vector<double>::Zero(p);
  if (problem.fit_intercept) b = intercept_of(theta, g, t, weight, origin, problem.outputs);
  return {std::move(theta), std::move(b)};
}

template LinearSolution solve_primal_cg(const FourierMap<float>&, RowSource<float>&, Index, const Vector<double>&,
                                        const SquaredLossProblem&, const CgOptions&, const Execution&, SolveReport&);
template LinearSolution solve_primal_cg(const FourierMap<double>&, RowSource<double>&, Index, const Vector<double>&,
                                        const SquaredLossProblem&, const CgOptions&, const Execution&, SolveReport&);

}  // namespace carmina
