// backends/cpu/triangle_loops.hpp -- Cholesky factors and triangular systems of a small order on one instruction set:
// what backends/cpu/triangular.cpp does not halve.
#pragma once
#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace carmina::backend {

enum class Side : bool { left, right };

// A = L Lᵀ row by row, in the lower triangle: l_ij = (a_ij - <l_i, l_j>) / l_jj over the columns before j.
template <class V>
bool small_cholesky_loop(Index n, typename V::Scalar* A, Index lda) {
  using T = typename V::Scalar;
  for (Index i = 0; i < n; ++i) {
    T* const row = A + i * lda;
    for (Index j = 0; j <= i; ++j) {
      const T* const other = A + j * lda;
      const Index whole = j / V::width * V::width;
      auto sums = V::broadcast(0);
      for (Index k = 0; k < whole; k += V::width) sums = V::multiply_add(V::load(row + k), V::load(other + k), sums);
      T rest = row[j] - V::sum(sums);
      for (Index k = whole; k < j; ++k) rest -= row[k] * other[k];
      if (j < i) {
        row[j] = rest / other[j];
      } else {
        if (!(rest > 0) || !std::isfinite(rest)) return false;
        row[i] = std::sqrt(rest);
      }
    }
  }
  return true;
}

// L⁻¹ X, or L⁻ᵀ X, for C registers of columns of X: x_i = (x_i - sum_k l_ik x_k) / l_ii, from the first or the last
// row.
template <class V, int C>
void solve_columns(bool transposed, Index n, const typename V::Scalar* L, Index lda, typename V::Scalar* X, Index ldx) {
  using T = typename V::Scalar;
  for (Index step = 0; step < n; ++step) {
    const Index i = transposed ? n - 1 - step : step;
    typename V::Register sums[C];
    for (auto& sum : sums) sum = V::broadcast(0);
    for (Index k = transposed ? i + 1 : 0; k < (transposed ? n : i); ++k) {
      const auto l = V::broadcast(transposed ? L[k * lda + i] : L[i * lda + k]);
      for (int c = 0; c < C; ++c) sums[c] = V::multiply_add(l, V::load(X + k * ldx + c * V::width), sums[c]);
    }
    const auto reciprocal = V::broadcast(T(1) / L[i * lda + i]), minus = V::broadcast(T(-1));
    for (int c = 0; c < C; ++c) {
      T* const x = X + i * ldx + c * V::width;
      V::store(x, V::multiply(reciprocal, V::multiply_add(minus, sums[c], V::load(x))));
    }
  }
}

// X (m, n): L⁻¹ X or L⁻ᵀ X with L of order m, X L⁻ᵀ or X L⁻¹ with L of order n. What does not fill registers, and X
// from the right, whose columns are those of Xᵀ, goes by way of a copy: each number gets the same arithmetic.
template <class V>
void small_solve_loop(Side side, bool transposed, Index m, Index n, const typename V::Scalar* L, Index lda,
                      typename V::Scalar* X, Index ldx) {
  using T = typename V::Scalar;
  constexpr int C = 4;
  constexpr Index together = C * V::width, longest = 64;
  const Index order = side == Side::left ? m : n, columns = side == Side::left ? n : m;
  Index done = 0;
  if (side == Side::left) {
    for (; done + together <= columns; done += together) solve_columns<V, C>(transposed, order, L, lda, X + done, ldx);
  }
  alignas(64) T room[longest * together];
  for (; done < columns; done += together) {
    const Index here = std::min(together, columns - done);
    const auto at = [&](Index i, Index c) -> T& {
      return side == Side::left ? X[i * ldx + done + c] : X[(done + c) * ldx + i];
    };
    for (Index i = 0; i < order; ++i) {
      for (Index c = 0; c < together; ++c) room[i * together + c] = c < here ? at(i, c) : T(0);
    }
    // X Lᵀ = B is L Xᵀ = Bᵀ.
    const bool turned = side == Side::left ? transposed : !transposed;
    if (here <= V::width) {
      solve_columns<V, 1>(turned, order, L, lda, room, together);
    } else {
      solve_columns<V, C>(turned, order, L, lda, room, together);
    }
    for (Index i = 0; i < order; ++i) {
      for (Index c = 0; c < here; ++c) at(i, c) = room[i * together + c];
    }
  }
}

}  // namespace carmina::backend
