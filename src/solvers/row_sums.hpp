// solvers/row_sums.hpp -- what the primal solvers ask of the rows, streamed: sums, normal products, the intercept.
#pragma once
#include <carmina/solvers/squared_loss.hpp>

namespace carmina {

// phiᵀW[Y - origin] (features, p) and the sums that an intercept needs.
struct RowSums {
  Matrix<double> cross;                      // (features, p)
  Vector<double> feature_sums, target_sums;  // phiᵀW1, (Y - origin)ᵀW1
  double weight = 0;
  Index rows = 0;

  // cross about the weighted means
  void centre() { cross.noalias() -= feature_sums * target_sums.transpose() / weight; }
};

// sum of w phi phiᵀ, lower triangle, about the mean of phi when asked
inline Matrix<double> gram_of(const Moments& moments, bool centred) {
  Matrix<double> H = moments.sums.topLeftCorner(moments.features, moments.features);
  if (centred) {
    const Vector<double> g = moments.feature_sums().transpose();
    H.noalias() -= g / moments.total_weight() * g.transpose();
  }
  return H;
}

// The other sums, likewise.
inline RowSums row_sums_of(const Moments& moments, bool centred) {
  RowSums sums{moments.cross().transpose(), moments.feature_sums().transpose(), moments.target_sums().transpose(),
               moments.total_weight()};
  if (centred) sums.centre();
  return sums;
}

// In one pass over the rows.
template <ScalarMap M>
RowSums stream_sums(const M& map, RowSource<typename M::Scalar>& rows, Index rows_at_once, const Vector<double>& origin,
                    bool fit_intercept, const Execution& execution) {
  using T = typename M::Scalar;
  const Index p = rows.dim_out();
  Matrix<double> all = Matrix<double>::Zero(map.n_features(), p + 1);
  RowSums sums{{}, {}, Vector<double>::Zero(p)};
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
    sums.rows += block.rows;
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
  const Matrix<typename M::Scalar>& direction = P.template cast<typename M::Scalar>();
  HP.setZero(P.rows(), P.cols());
  rows.rewind();
  for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
    normal_operator(map, block.inputs(), block.weights, direction, HP, execution);
  }
  if (fit_intercept) HP.noalias() -= sums.feature_sums / sums.weight * (sums.feature_sums.transpose() * P);
}

// b = origin + (1ᵀW(Y - origin) - 1ᵀW phi coefficients) / 1ᵀW1 for coefficients (features, p)
inline LinearSolution with_intercept(Matrix<double> coefficients, const RowSums& sums, const Vector<double>& origin,
                                     bool fit_intercept) {
  Vector<double> b = Vector<double>::Zero(origin.size());
  if (fit_intercept) b = origin + (sums.target_sums - coefficients.transpose() * sums.feature_sums) / sums.weight;
  return {std::move(coefficients), std::move(b)};
}

}  // namespace carmina
