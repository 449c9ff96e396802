// backends/cpu/reflectors.hpp -- the orthogonal matrix of a reduction to tridiagonal form, as a product of reflectors.
//
// Row r >= 1 of the reduced matrix holds v_r, zero from column r on and 1 (not stored) in column r - 1:
// H_r = I - scales[r - 1] v_r v_rᵀ, and Q = H_{n-1} ... H_2 H_1, so that A = Q T Qᵀ.
#pragma once
#include "backends/blas.hpp"

#include <carmina/core/execution.hpp>

#include <vector>

namespace carmina::backend {

// Products of reflectors, some at a time: H_{end-1} ... H_begin = I - Vᵀ S V, rows of V being v_begin, ..., v_{end-1}
// and S lower triangular.
class Reflectors {
 public:
  Reflectors(Index n, const double* rows, Index ld, const double* scales, const Execution& execution);

  // X (n, m) <- Q X, or QᵀX.
  void apply(Transpose transpose, Index m, double* X, Index ldx) const;
  // X (m, n) <- X Qᵀ
  void apply_to_rows(Index m, double* X, Index ldx) const;

 private:
  struct Block {
    Index begin, end;
    Matrix<double> S, corner;  // corner: V's columns from begin - 1 on, a triangle with 1 on its diagonal
  };
  Index ld_;
  const double* rows_;
  std::vector<Block> blocks_;
};

// The last `count` rows and columns of the symmetric A (n, n), by its lower triangle, become reflectors, with 1 in its
// place; W (count, n) is such that A - VᵀW - WᵀV is what they leave of the rest, V being those rows.
void reduce_last_rows(Index n, Index count, double* A, Index lda, double* off_diagonal, double* scales, double* W,
                      const Execution& execution);

}  // namespace carmina::backend
