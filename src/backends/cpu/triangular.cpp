// backends/cpu/triangular.cpp -- Cholesky factors and triangular systems, halved until they are small: nearly all of
// the work is then in products of matrices, the rest in OpenBLAS.
#include "backends/blas.hpp"
#include "backends/cpu/openblas.hpp"

extern "C" {
void BLAS(dpotrf_)(const char*, const int*, double*, const int*, int*);
void BLAS(spotrf_)(const char*, const int*, float*, const int*, int*);
}

namespace carmina::backend {
namespace {

constexpr Index small = 48;        // order that is not halved
constexpr Index few_columns = 12;  // right-hand sides that products gain nothing by

// A multiple of 12, the rows of a tile of products.
Index half(Index n) { return (n / 2 + 11) / 12 * 12; }

// A row-major lower triangle is LAPACK's (column-major) upper triangle: A = UᵀU with U = Lᵀ.
bool small_cholesky(Index n, double* A, Index lda) {
  const int order = to_int(n), stride = to_int(lda);
  int info = 0;
  BLAS(dpotrf_)("U", &order, A, &stride, &info);
  return info == 0;
}
bool small_cholesky(Index n, float* A, Index lda) {
  const int order = to_int(n), stride = to_int(lda);
  int info = 0;
  BLAS(spotrf_)("U", &order, A, &stride, &info);
  return info == 0;
}

// L⁻¹ X or L⁻ᵀ X from the left, X L⁻ᵀ from the right; X (m, n).
void small_solve(CBLAS_SIDE side, CBLAS_TRANSPOSE transpose, Index m, Index n, const double* L, Index lda, double* X,
                 Index ldx) {
  BLAS(cblas_dtrsm)(CblasRowMajor, side, CblasLower, transpose, CblasNonUnit, to_int(m), to_int(n), 1, L, to_int(lda),
                    X, to_int(ldx));
}
void small_solve(CBLAS_SIDE side, CBLAS_TRANSPOSE transpose, Index m, Index n, const float* L, Index lda, float* X,
                 Index ldx) {
  BLAS(cblas_strsm)(CblasRowMajor, side, CblasLower, transpose, CblasNonUnit, to_int(m), to_int(n), 1, L, to_int(lda),
                    X, to_int(ldx));
}

}  // namespace

// [A11; A21 A22] = [L11; L21 L22] [L11; L21 L22]ᵀ
template <Real T>
bool cholesky(Index n, T* A, Index lda) {
  if (n <= small) {
    const Serial serial;
    return small_cholesky(n, A, lda);
  }
  const Index h = half(n);
  T* const A21 = A + h * lda;
  if (!cholesky(h, A, lda)) return false;
  right_solve_transposed(n - h, h, A, lda, A21, lda);
  subtract_own_product(n - h, h, A21, lda, A21 + h, lda);
  return cholesky(n - h, A21 + h, lda);
}
template bool cholesky(Index, float*, Index);
template bool cholesky(Index, double*, Index);

// X1 L11ᵀ = B1, X2 L22ᵀ = B2 - X1 L21ᵀ
template <Real T>
void right_solve_transposed(Index m, Index n, const T* L, Index lda, T* X, Index ldx) {
  if (n <= small || m < few_columns) {
    const Serial serial;
    return small_solve(CblasRight, CblasTrans, m, n, L, lda, X, ldx);
  }
  const Index h = half(n);
  const T* const L21 = L + h * lda;
  right_solve_transposed(m, h, L, lda, X, ldx);
  gemm<T>(Transpose::no, Transpose::yes, m, n - h, h, T(-1), X, ldx, L21, lda, T(1), X + h, ldx);
  right_solve_transposed(m, n - h, L21 + h, lda, X + h, ldx);
}
template void right_solve_transposed(Index, Index, const float*, Index, float*, Index);
template void right_solve_transposed(Index, Index, const double*, Index, double*, Index);

// L11 X1 = B1, L22 X2 = B2 - L21 X1
template <Real T>
void lower_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx) {
  if (n <= small || m < few_columns) {
    const Serial serial;
    return small_solve(CblasLeft, CblasNoTrans, n, m, L, lda, X, ldx);
  }
  const Index h = half(n);
  const T* const L21 = L + h * lda;
  lower_solve(h, m, L, lda, X, ldx);
  gemm<T>(Transpose::no, Transpose::no, n - h, m, h, T(-1), L21, lda, X, ldx, T(1), X + h * ldx, ldx);
  lower_solve(n - h, m, L21 + h, lda, X + h * ldx, ldx);
}
template void lower_solve(Index, Index, const float*, Index, float*, Index);
template void lower_solve(Index, Index, const double*, Index, double*, Index);

// L22ᵀ X2 = B2, L11ᵀ X1 = B1 - L21ᵀ X2
template <Real T>
void lower_transposed_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx) {
  if (n <= small || m < few_columns) {
    const Serial serial;
    return small_solve(CblasLeft, CblasTrans, n, m, L, lda, X, ldx);
  }
  const Index h = half(n);
  const T* const L21 = L + h * lda;
  lower_transposed_solve(n - h, m, L21 + h, lda, X + h * ldx, ldx);
  gemm<T>(Transpose::yes, Transpose::no, h, m, n - h, T(-1), L21, lda, X + h * ldx, ldx, T(1), X, ldx);
  lower_transposed_solve(h, m, L, lda, X, ldx);
}
template void lower_transposed_solve(Index, Index, const float*, Index, float*, Index);
template void lower_transposed_solve(Index, Index, const double*, Index, double*, Index);

template <Real T>
void cholesky_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx) {
  lower_solve(n, m, L, lda, X, ldx);
  lower_transposed_solve(n, m, L, lda, X, ldx);
}
template void cholesky_solve(Index, Index, const float*, Index, float*, Index);
template void cholesky_solve(Index, Index, const double*, Index, double*, Index);

}  // namespace carmina::backend
