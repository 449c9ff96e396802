// kernels/decomposable.hpp -- K(x, z) = k(x, z) A: a scalar kernel times a positive semi-definite output matrix.
#pragma once
#include <carmina/kernels/scalar_kernel.hpp>

namespace carmina {

// A symmetric positive semi-definite matrix by its non-zero eigenvalues, A = V diag(delta) Vᵀ, so that its root is
// B = V sqrt(delta) (SPEC 1b). Without vectors it stands for the identity of any size.
struct OutputFactor {
  Matrix<double> vectors;  // V (p, rank)
  Vector<double> delta;    // (rank), descending, positive

  bool identity() const { return vectors.size() == 0; }
  Index rank(Index outputs) const { return identity() ? outputs : delta.size(); }
  double eigenvalue(Index j) const { return identity() ? 1.0 : delta[j]; }
  Matrix<double> root() const;  // B (p, rank)
};

// Error when A is not square, symmetric, finite or positive semi-definite (to rounding).
OutputFactor factor_output_matrix(const Matrix<double>& A);

struct Decomposable {
  ScalarKernel scalar;
  Matrix<double> A;  // (p, p)

  Decomposable(ScalarKernel k, Matrix<double> output_matrix) : scalar(std::move(k)), A(std::move(output_matrix)) {
    factor_output_matrix(A);
  }
  bool operator==(const Decomposable& other) const {
    return scalar == other.scalar && A.rows() == other.A.rows() && A == other.A;
  }
};

}  // namespace carmina
