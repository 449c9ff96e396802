// solvers/squared_primal.cpp -- squared loss in the coefficients of the features.
#include <carmina/core/error.hpp>
#include <carmina/solvers/squared_loss.hpp>

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

// phiᵀW[Y - origin] (features, p) and the sums that an intercept needs.
struct RowSums {
  Matrix<double> cross;                       // (features, p)
  Vector<double> feature_sums, target_sums;   // phiᵀW1, (Y - origin)ᵀW1
  double weight = 0;

  // cross about the weighted means
  void centre() { cross.noalias() -= feature_sums * target_sums.transpose() / weight; }
};

// From the moments, whose Gram matrix is centred too when there is an intercept.
RowSums sums_of(Moments& moments, bool fit_intercept) {
  RowSums sums{moments.cross().transpose(), moments.feature_sums().transpose(), moments.target_sums().transpose(),
               moments.total_weight()};
  if (fit_intercept) {
    sums.centre();
    const Vector<double>& g = sums.feature_sums;
    for (Index i = 0; i < moments.features; ++i) {
      moments.sums.row(i).head(i + 1) -= g[i] / sums.weight * g.head(i + 1).transpose();
    }
  }
  return sums;
}

// In one pass over the rows.
template <ScalarMap M>
RowSums stream_sums(const M& map, RowSource<typename M::Scalar>& rows, Index rows_at_once, const Vector<double>& origin,
                    bool fit_intercept, const Execution& execution) {
  using T = typename M::Scalar;
  const Index p = rows.dim_out();
  Matrix<double> all = Matrix<double>::Zero(map.n_features(), p + 1);
  RowSums sums{{}, {}, Vector<double>::Zero(p), 0};
  rows.rewind();
  for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
    Matrix<T> residual(block.rows, p + 1);
    for (Index i = 0; i < block.rows; ++i) {
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
      const Vector<double> y = block.targets().row(i).transpose().template cast<double>() - origin;
      residual.row(i).head(p) = (w * y).transpose().template cast<T>();
      residual(i, p) = static_cast<T>(w);
      sums.target_sums += w * y;
      sums.weight += w;
    }
    adjoint(map, block.inputs(), residual, all, execution);
    execution.checkpoint({"summing", block.first_row + block.rows, rows.rows().value_or(0)});
  }
  sums.cross = all.leftCols(p);
  sums.feature_sums = all.col(p);
  if (fit_intercept) sums.centre();
  return sums;
}

// HP = phiᵀW phi P, about the mean of the features when there is an intercept.
template <ScalarMap M>
void normal_product(const M& map, RowSource<typename M::Scalar>& rows, Index rows_at_once, const RowSums& sums,
                    bool fit_intercept, const Matrix<double>& P, Matrix<double>& HP, const Execution& execution) {
  const Matrix<typename M::Scalar> direction = P.template cast<typename M::Scalar>();
  HP.setZero(P.rows(), P.cols());
  rows.rewind();
  for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
    normal_operator(map, block.inputs(), block.weights, direction, HP, execution);
  }
  if (fit_intercept) HP.noalias() -= sums.feature_sums / sums.weight * (sums.feature_sums.transpose() * P);
}

// b = origin + (1ᵀW(Y - origin) - 1ᵀW phi coefficients) / 1ᵀW1 for coefficients (features, p)
LinearSolution with_intercept(Matrix<double> coefficients, const RowSums& sums, const Vector<double>& origin,
                              bool fit_intercept) {
  Vector<double> b = Vector<double>::Zero(origin.size());
  if (fit_intercept) b = origin + (sums.target_sums - coefficients.transpose() * sums.feature_sums) / sums.weight;
  return {std::move(coefficients), std::move(b)};
}

}  // namespace

LinearSolution solve_primal(Moments& moments, const SquaredLossProblem& problem, const Execution& execution,
                            SolveReport& report) {
  const RowSums sums = sums_of(moments, problem.fit_intercept);
  Matrix<double> R = times_root(sums.cross, problem.outputs);
  solve_shifted(moments.sums.data(), moments.features, moments.sums.outerStride(),
                eigenvalues(problem.outputs, moments.outputs), problem.alpha, R, execution, report);
  Vector<double> b = with_intercept(expanded(R, problem.outputs), sums, moments.origin, problem.fit_intercept).intercept;
  return {std::move(R), std::move(b)};
}

template <ScalarMap M>
LinearSolution solve_primal_cg(const M& map, RowSource<typename M::Scalar>& rows, Index rows_at_once,
                               const Vector<double>& origin, const SquaredLossProblem& problem, const CgOptions& options,
                               const Execution& execution, SolveReport& report) {
  const RowSums sums = stream_sums(map, rows, rows_at_once, origin, problem.fit_intercept, execution);
  const auto product = [&](const Matrix<double>& P, Matrix<double>& HP) {
    normal_product(map, rows, rows_at_once, sums, problem.fit_intercept, P, HP, execution);
  };
  Matrix<double> theta =
      solve_shifted_cg(product, eigenvalues(problem.outputs, rows.dim_out()), problem.alpha,
                       times_root(sums.cross, problem.outputs), options, execution, report);
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
                                 const CgOptions& options, const Execution& execution, SolveReport& report) {
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

#define CARMINA_INSTANTIATE(M)                                                                                         \
  template LinearSolution solve_primal_cg(const M&, RowSource<M::Scalar>&, Index, const Vector<double>&,               \
                                          const SquaredLossProblem&, const CgOptions&, const Execution&, SolveReport&); \
  template LinearSolution solve_expanded_cg(const M&, const Expansion&, RowSource<M::Scalar>&, Index,                  \
                                            const Vector<double>&, double, bool, const CgOptions&, const Execution&,   \
                                            SolveReport&);
CARMINA_INSTANTIATE(FourierMap<float>)
CARMINA_INSTANTIATE(FourierMap<double>)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
