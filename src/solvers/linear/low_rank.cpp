// solvers/linear/low_rank.cpp -- pivoted Cholesky, then the eigenvectors of its small Gram matrix.
#include "solvers/linear/low_rank.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {

// [Harbrecht2012, Algorithm 1]; H - L Lᵀ stays positive semi-definite.
LowRank pivoted_cholesky(const MatrixColumns& H, Index rank, double enough, const Execution& execution) {
  const Index n = H.diagonal.size();
  Vector<double> rest = H.diagonal;
  const double smallest = std::numeric_limits<double>::epsilon() * (n > 0 ? rest.maxCoeff() : 0.0);
  Eigen::MatrixXd L(n, rank);
  Index k = 0;
  for (; k < rank && rest.sum() > enough; ++k) {
    execution.checkpoint({"preconditioner", k, rank});
    Index pivot = 0;
    const double largest = rest.maxCoeff(&pivot);
    if (!(largest > smallest)) break;
    Vector<double> column = H.column(pivot);
    column -= L.leftCols(k) * L.row(pivot).head(k).transpose();
    L.col(k) = column / std::sqrt(largest);
    L(pivot, k) = std::sqrt(largest);
    rest = (rest - L.col(k).cwiseAbs2()).cwiseMax(0);
    rest[pivot] = 0;
  }
  if (k == 0) return {Matrix<double>(n, 0), Vector<double>(0)};
  const auto kept = L.leftCols(k);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> gram(kept.transpose() * kept);
  // Directions of L that are lost in rounding are left out.
  const double noise = 1e-12 * gram.eigenvalues()[k - 1];
  Index first = 0;
  while (first < k && !(gram.eigenvalues()[first] > noise)) ++first;
  LowRank out;
  out.values = gram.eigenvalues().tail(k - first);
  out.Q = kept * gram.eigenvectors().rightCols(k - first) * out.values.cwiseSqrt().cwiseInverse().asDiagonal();
  return out;
}

Preconditioner low_rank_preconditioner(const MatrixColumns& K, const Vector<double>& root_weights,
                                       const Vector<double>& delta, double alpha, const Execution& execution) {
  const Index rank = std::min<Index>(root_weights.size() / 10, 200);
  if (!K.column || !(alpha > 0) || rank == 0 || delta.size() == 0) return {};
  const MatrixColumns H{K.diagonal.cwiseProduct(root_weights.cwiseAbs2()), [&](Index i) -> Vector<double> {
                          return root_weights[i] * K.column(i).cwiseProduct(root_weights);
                        }};
  // A remainder below alpha changes no eigenvalue of the system by more than a factor of two.
  LowRank leading = pivoted_cholesky(H, rank, alpha / delta.maxCoeff(), execution);
  return [leading = std::move(leading), delta, alpha](const Matrix<double>& R, Matrix<double>& Z) {
    Z = leading.solve(R, delta, alpha);
  };
}

Matrix<double> LowRank::solve(const Matrix<double>& R, const Vector<double>& delta, double alpha) const {
  Matrix<double> along = Q.transpose() * R;
  for (Index i = 0; i < along.rows(); ++i) {
    for (Index j = 0; j < along.cols(); ++j) along(i, j) *= delta[j] * values[i] / (delta[j] * values[i] + alpha);
  }
  return (R - Q * along) / alpha;
}

}  // namespace carmina
