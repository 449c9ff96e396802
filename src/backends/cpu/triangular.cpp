// backends/cpu/triangular.cpp -- Cholesky factors and triangular systems, halved until they are small: nearly all of
// the work is then in products of matrices.
#include "backends/blas.hpp"
#include "backends/cpu/triangle_loops.hpp"
#include "backends/vector_math.hpp"

#include <vector>

namespace carmina::backend {
namespace {

constexpr Index small = 48;        // order that is not halved
constexpr Index few_columns = 12;  // right-hand sides that products of matrices gain nothing by

// A multiple of 12, the rows of a tile of products.
Index half(Index n) { return (n / 2 + 11) / 12 * 12; }

// -Xᵀ (m, n) of a few columns X (n, m).
template <Real T>
const T* minus_transposed(Index n, Index m, const T* X, Index ldx) {
  thread_local std::vector<T> room;
  room.resize(static_cast<std::size_t>(n * m));
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < m; ++c) room[static_cast<std::size_t>(c * n + i)] = -X[i * ldx + c];
  }
  return room.data();
}

// X2 (rows, m) -= L21 X1, L21 (rows, n)
template <Real T>
void subtract_product(Index rows, Index m, Index n, const T* L21, Index lda, const T* X1, T* X2, Index ldx) {
  if (m < few_columns) {
    return add_product_few(L21, lda, rows, n, minus_transposed(n, m, X1, ldx), n, m, X2, ldx);
  }
  gemm<T>(Transpose::no, Transpose::no, rows, m, n, T(-1), L21, lda, X1, ldx, T(1), X2, ldx);
}

}  // namespace

// [A11; A21 A22] = [L11; L21 L22] [L11; L21 L22]ᵀ
template <Real T>
bool cholesky(Index n, T* A, Index lda) {
  if (n <= small) return small_cholesky(n, A, lda);
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
  if (n <= small) return small_solve(Side::right, true, m, n, L, lda, X, ldx);
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
  if (n <= small) return small_solve(Side::left, false, n, m, L, lda, X, ldx);
  const Index h = half(n);
  const T* const L21 = L + h * lda;
  lower_solve(h, m, L, lda, X, ldx);
  subtract_product(n - h, m, h, L21, lda, X, X + h * ldx, ldx);
  lower_solve(n - h, m, L21 + h, lda, X + h * ldx, ldx);
}
template void lower_solve(Index, Index, const float*, Index, float*, Index);
template void lower_solve(Index, Index, const double*, Index, double*, Index);

// L22ᵀ X2 = B2, L11ᵀ X1 = B1 - L21ᵀ X2
template <Real T>
void lower_transposed_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx) {
  if (n <= small) return small_solve(Side::left, true, n, m, L, lda, X, ldx);
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
