// backends/tiled.hpp -- products and factorisations on several threads, in tiles.
//
// Tiles, and the order in which a tile is updated, follow from the sizes alone, and products run serially inside a
// task: results are bit-equal for any number of threads. A request to stop is seen between tiles.
#pragma once
#include "backends/blas.hpp"

#include <carmina/core/execution.hpp>

namespace carmina::backend {

// C (m, n) = alpha op(A) op(B) + beta C, as in blas.hpp.
template <Real T>
void gemm(Transpose trans_a, Transpose trans_b, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B,
          Index ldb, T beta, T* C, Index ldc, const Execution& execution);

// (rows, columns), touched first by all threads.
template <Real T>
Matrix<T> zeros(Index rows, Index columns, const Execution& execution);

// op(A) B of whole matrices.
Matrix<double> product(Transpose transpose, const Matrix<double>& A, const Matrix<double>& B,
                       const Execution& execution);

// Lower triangle of C (n, n) += AᵀA, A (k, n).
void add_gram(Index n, Index k, const double* A, Index lda, double* C, Index ldc, const Execution& execution);

// A = L Lᵀ in place by the lower triangle; the strict upper triangle is left alone. False when A is not positive
// definite to rounding; its lower triangle is then spoilt.
template <Real T>
bool cholesky(Index n, T* A, Index lda, const Execution& execution);

// X (n, m) <- (L Lᵀ)⁻¹ X, L⁻¹ X. Few columns are solved in blocks of rows of L, which all threads read.
template <Real T>
void cholesky_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx, const Execution& execution);
void lower_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx, const Execution& execution);
void lower_transposed_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx,
                            const Execution& execution);

// L⁻¹ (n, n), zeros above its diagonal.
Matrix<double> lower_inverse(Index n, const double* L, Index lda, const Execution& execution);

// The lower triangle of (L Lᵀ)⁻¹, in the place of L.
void cholesky_inverse(Index n, double* L, Index lda, const Execution& execution);

// Symmetric A (n, n) by its lower triangle: A = Q T Qᵀ with T tridiagonal, about a third of the work of an
// eigendecomposition. The lower triangle and `scales` (n) then stand for Q; the strict upper triangle is left alone.
// A request to stop is seen between panels of rows.
void tridiagonalise(Index n, double* A, Index lda, double* diagonal, double* off_diagonal, double* scales,
                    const Execution& execution);

// Symmetric A (n, n) by its lower triangle: A = U diag(values) Uᵀ, values ascending. Uᵀ is written to A: row j is the
// j-th eigenvector.
void symmetric_eigen(Index n, double* A, Index lda, double* values, const Execution& execution);
// The same with a small order in mind: of outputs, of rows that are drawn together.
void small_symmetric_eigen(Index n, double* A, Index lda, double* values, const Execution& execution);

// X (n, m) <- QᵀX, or Q X, with Q from tridiagonalise().
void apply_reflectors(Transpose transpose, Index n, Index m, const double* Q, Index lda, const double* scales,
                      double* X, Index ldx, const Execution& execution);

}  // namespace carmina::backend
