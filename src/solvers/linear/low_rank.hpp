// solvers/linear/low_rank.hpp -- the leading part of a positive semi-definite matrix from a few of its columns: a
// preconditioner.
#pragma once
#include "solvers/linear/shifted_systems.hpp"

namespace carmina {

// A matrix known by its diagonal and any column asked for.
struct MatrixColumns {
  Vector<double> diagonal;
  std::function<Vector<double>(Index)> column;
};

// H ~ Q diag(values) Qᵀ, Q (n, k) with orthonormal columns.
struct LowRank {
  Matrix<double> Q;
  Vector<double> values;

  // Columns r_j of R to (delta_j Q diag(values) Qᵀ + alpha I)⁻¹ r_j, alpha > 0. Woodbury with QᵀQ = I:
  // r_j / alpha - Q diag(delta_j values / (delta_j values + alpha)) Qᵀ r_j / alpha.
  Matrix<double> solve(const Matrix<double>& R, const Vector<double>& delta, double alpha) const;
};

// Pivoted Cholesky: column after column where the remaining diagonal is largest, until there are `rank` of them or what
// remains of the trace is below `enough`.
LowRank pivoted_cholesky(const MatrixColumns& H, Index rank, double enough, const Execution& execution);

// For conjugate gradients with delta_j W^(1/2) K W^(1/2) + alpha I: min(n / 10, 200) columns of K. None when there are
// no columns to ask for or alpha is 0.
Preconditioner low_rank_preconditioner(const MatrixColumns& K, const Vector<double>& root_weights,
                                       const Vector<double>& delta, double alpha, const Execution& execution);

}  // namespace carmina
