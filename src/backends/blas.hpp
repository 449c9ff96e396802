// backends/blas.hpp -- the few products and factorisations the library is written in, row-major, for float and double.
// All run in the calling thread alone; backends/tiled.hpp has those that take several.
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
template <Real T>
bool cholesky(Index n, T* A, Index lda);

// With L from cholesky(): X (n, m) <- (L Lᵀ)⁻¹ X, L⁻¹ X and L⁻ᵀ X.
template <Real T>
void cholesky_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx);
template <Real T>
void lower_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx);
template <Real T>
void lower_transposed_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx);

// X (m, n) <- X L⁻ᵀ, and the lower triangle of C (n, n) <- C - A Aᵀ, A (n, k): the steps of a factorisation by tiles.
template <Real T>
void right_solve_transposed(Index m, Index n, const T* L, Index lda, T* X, Index ldx);
template <Real T>
void subtract_own_product(Index n, Index k, const T* A, Index lda, T* C, Index ldc);

// Eigenvalues of a tridiagonal matrix, ascending, in the place of its diagonal; the rest is spoilt.
void tridiagonal_eigenvalues(Index n, double* diagonal, double* off_diagonal);

}  // namespace carmina::backend
