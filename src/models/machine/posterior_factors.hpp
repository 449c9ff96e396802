// models/machine/posterior_factors.hpp -- factors of normal and kernel systems, and the directions of outputs, as
// posteriors need them.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/kernels/coupling.hpp>
#include <carmina/random/philox.hpp>

#include <vector>

namespace carmina::posterior {

// L of delta H + alpha diag(1 / weights), H by its lower triangle; no weights: all one.
Matrix<double> factor(Matrix<double> H, double delta, double alpha, const Vector<double>& weights,
                      const Execution& execution);

// L^-1 R for R (order, columns), in panels of one width that are filled up with zeros: a column has the same bits
// whatever stands beside it.
Matrix<double> solved(const Matrix<double>& L, const Matrix<double>& R, const Execution& execution);

// aᵀ Z and the squared lengths of columns, each summed from the first row to the last.
Vector<double> products_with_columns(const Vector<double>& a, const Matrix<double>& Z);
Vector<double> squares_of_columns(const Matrix<double>& Z);

// One factor per different eigenvalue of A, and which one output direction j uses.
struct Directions {
  std::vector<double> deltas;
  std::vector<std::size_t> which;

  Directions(const OutputFactor& outputs, Index p);
};

// In the eigenbasis V of A: sum_j variance_j v_j v_jᵀ for each row; variances (rows, rank).
Matrix<double> from_directions(const OutputFactor& outputs, const Matrix<double>& variances, Index p);
// v_j, (p).
Vector<double> direction(const OutputFactor& outputs, Index j, Index p);

// Independent standard normal numbers (count): the j-th vector of a draw.
Vector<double> normals(const Random& stream, Index count, Index j);

}  // namespace carmina::posterior
