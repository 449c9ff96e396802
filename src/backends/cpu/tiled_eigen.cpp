// backends/cpu/tiled_eigen.cpp -- eigendecompositions on several threads.
#include "backends/cpu/column_panels.hpp"
#include "backends/cpu/lower_tiles.hpp"
#include "backends/cpu/reflectors.hpp"
#include "backends/cpu/tridiagonal.hpp"
#include "backends/tiled.hpp"

#include <algorithm>
#include <vector>

namespace carmina::backend {

constexpr Index vector_columns = 64;  // eigenvectors of a task: less than a second's work up to order 20,000

// The last rows become reflectors, and their products leave the rest, a panel at a time. A panel
// reads the whole matrix once for each of its rows: rows so few that it takes a third of a second or so.
void tridiagonalise(Index n, double* A, Index lda, double* diagonal, double* off_diagonal, double* scales,
                    const Execution& execution) {
  constexpr Index side = 192;
  constexpr double panel_bytes = 2.5e9;
  Matrix<double> W;
  Index left = n;
  while (left > 0) {
    execution.poll(0);
    const double matrix_bytes = 4 * static_cast<double>(left) * static_cast<double>(left);
    const Index count = std::min(left, std::clamp<Index>(static_cast<Index>(panel_bytes / matrix_bytes), 4, 32));
    W.resize(count, left);
    reduce_last_rows(left, count, A, lda, off_diagonal, scales, W.data(), execution);
    const Index first = left - count;  // the panel's first row
    const double* const V = A + first * lda;
    for_lower_tiles(count_of(first, side), execution, [&](Index i, Index j) {
      const Index row = i * side, column = j * side;
      const Index height = std::min(side, first - row), breadth = std::min(side, first - column);
      thread_local std::vector<double> products;
      products.resize(static_cast<std::size_t>(side * side));
      const auto add = [&](const double* left_rows, Index left_stride, const double* right_rows, Index right_stride,
                           double beta) {
        gemm<double>(Transpose::yes, Transpose::no, height, breadth, count, 1.0, left_rows + row, left_stride,
                     right_rows + column, right_stride, beta, products.data(), side);
      };
      add(V, lda, W.data(), left, 0.0);
      add(W.data(), left, V, lda, 1.0);
      for (Index r = 0; r < height; ++r) {
        double* const out = A + (row + r) * lda + column;
        const double* const product = products.data() + r * side;
        const Index columns = i == j ? r + 1 : breadth;
        for (Index c = 0; c < columns; ++c) out[c] -= product[c];
      }
    });
    // What the reflectors have in the place of 1 is T's own.
    for (Index k = first; k < left; ++k) {
      if (k > 0) A[k * lda + k - 1] = off_diagonal[k - 1];
      diagonal[k] = A[k * lda + k];
    }
    left = first;
  }
}

void symmetric_eigen(Index n, double* A, Index lda, double* values, const Execution& execution) {
  if (n == 0) return;
  std::vector<double> off_diagonal(static_cast<std::size_t>(n)), scales(static_cast<std::size_t>(n));
  tridiagonalise(n, A, lda, values, off_diagonal.data(), scales.data(), execution);
  execution.poll(0);
  Matrix<double> vectors(n, n);  // row j: the j-th eigenvector
  tridiagonal_eigenvectors(n, values, off_diagonal.data(), vectors.data(), execution);
  const Reflectors Q(n, A, lda, scales.data(), execution);
  for_panels(n, vector_columns, execution,
             [&](Index first, Index count) { Q.apply_to_rows(count, vectors.row(first).data(), n); });
  for_panels(n, vector_columns, execution, [&](Index first, Index count) {
    for (Index j = first; j < first + count; ++j) std::copy_n(vectors.row(j).data(), n, A + j * lda);
  });
}

void apply_reflectors(Transpose transpose, Index n, Index m, const double* Q, Index lda, const double* scales,
                      double* X, Index ldx, const Execution& execution) {
  const Reflectors reflectors(n, Q, lda, scales, execution);
  for_panels(m, vector_columns, execution,
             [&](Index first, Index count) { reflectors.apply(transpose, count, X + first, ldx); });
}

}  // namespace carmina::backend
