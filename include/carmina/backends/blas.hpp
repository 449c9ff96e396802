// backends/blas.hpp -- the few BLAS and LAPACK calls the library is written in, row-major, for float and double.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina::backend {

enum class Transpose : bool { no, yes };

// C (m, n) = alpha op(A) op(B) + beta C; leading dimensions are row strides.
template <Real T>
void gemm(Transpose trans_a, Transpose trans_b, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B,
          Index ldb, T beta, T* C, Index ldc);

// Lower triangle of C (n, n) = alpha AᵀA + beta C, A (k, n).
template <Real T>
void gram(Index n, Index k, T alpha, const T* A, Index lda, T beta, T* C, Index ldc);

// Factorisations are in double whatever the data: they see condition numbers that float cannot. Preconditioners, which
// need not be exact, may do with float.

// Factors the symmetric A (n, n), given by its lower triangle, in place as L Lᵀ; the strict upper triangle is left
// alone. False when A is not positive definite (to rounding); its lower triangle is then spoilt.
bool cholesky(Index n, double* A, Index lda);
bool cholesky(Index n, float* A, Index lda);

// X (n, m) <- (L Lᵀ)⁻¹ X with L from cholesky().
void cholesky_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx);
void cholesky_solve(Index n, Index m, const float* L, Index lda, float* X, Index ldx);

// X (n, m) <- L⁻¹ X with L from cholesky().
void lower_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx);

// X (n, m) <- L⁻ᵀ X with L from cholesky().
void lower_transposed_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx);

// L from cholesky() -> the lower triangle of (L Lᵀ)⁻¹, in place; the strict upper triangle is left alone.
void cholesky_inverse(Index n, double* L, Index lda);

// Symmetric A (n, n) by its lower triangle: A = U diag(values) Uᵀ, values ascending. Uᵀ is written to A: row j is the
// j-th eigenvector.
void symmetric_eigen(Index n, double* A, Index lda, double* values);

// Symmetric A (n, n) by its lower triangle: A = Q T Qᵀ with T tridiagonal, about a third of the work of
// symmetric_eigen. The lower triangle and `scales` (n) then stand for Q; the strict upper triangle is left alone.
void tridiagonalise(Index n, double* A, Index lda, double* diagonal, double* off_diagonal, double* scales);

// X (n, m) <- QᵀX, or Q X, with Q from tridiagonalise().
void turn_by_reflectors(Transpose transpose, Index n, Index m, const double* Q, Index lda, const double* scales,
                        double* X, Index ldx);

// Eigenvalues of a tridiagonal matrix, ascending, in the place of its diagonal; the rest is spoilt.
void tridiagonal_eigenvalues(Index n, double* diagonal, double* off_diagonal);

}  // namespace carmina::backend
