// backends/cpu/tiled.cpp -- products and factors as tasks over tiles.
#include "backends/tiled.hpp"
#include "backends/cpu/column_panels.hpp"
#include "backends/cpu/lower_tiles.hpp"
#include "backends/cuda/backend.hpp"
#include "backends/vector_math.hpp"

#include <carmina/core/error.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

namespace carmina::backend {
namespace {

constexpr Index product_tile = 256;   // rows and columns of a task's result
constexpr Index columns_a_task = 64;  // right-hand sides of a task
constexpr Index narrow_product = 16;  // columns that are multiplied one by one

// The order of the tiles of a Cholesky factor: large enough for products, small enough for tasks to be many.
Index factor_tile(Index n) { return n < 1536 ? 128 : 192; }

}  // namespace

template <Real T>
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B, Index ldb,
          T beta, T* C, Index ldc, const Execution& execution) {
  const Index across = count_of(n, product_tile);
  parallel_for(count_of(m, product_tile) * across, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    const Index i = task / across * product_tile, j = task % across * product_tile;
    gemm<T>(ta, tb, std::min(product_tile, m - i), std::min(product_tile, n - j), k, alpha,
            A + (ta == Transpose::yes ? i : i * lda), lda, B + (tb == Transpose::yes ? j * ldb : j), ldb, beta,
            C + i * ldc + j, ldc);
  });
}
template void gemm(Transpose, Transpose, Index, Index, Index, float, const float*, Index, const float*, Index, float,
                   float*, Index, const Execution&);
template void gemm(Transpose, Transpose, Index, Index, Index, double, const double*, Index, const double*, Index,
                   double, double*, Index, const Execution&);

template <Real T>
Matrix<T> zeros(Index rows, Index columns, const Execution& execution) {
  constexpr Index strip = 64;
  Matrix<T> out(rows, columns);
  parallel_for(count_of(rows, strip), execution.thread_count(), [&](Index task, int) {
    const Index first = task * strip;
    out.middleRows(first, std::min(strip, rows - first)).setZero();
  });
  return out;
}
template Matrix<float> zeros(Index, Index, const Execution&);
template Matrix<double> zeros(Index, Index, const Execution&);

Matrix<double> product(Transpose transpose, const Matrix<double>& A, const Matrix<double>& B,
                       const Execution& execution) {
  const bool flip = transpose == Transpose::yes;
  const Index rows = flip ? A.cols() : A.rows(), inner = flip ? A.rows() : A.cols(), p = B.cols();
  if (p <= narrow_product) {  // what products of matrices copy would be read once alone
    Matrix<double> out = Matrix<double>::Zero(flip ? p : rows, flip ? rows : p);
    const Matrix<double> Bt = flip ? Matrix<double>() : Matrix<double>(B.transpose());
    for_panels(rows, product_tile, execution, [&](Index first, Index count) {
      if (flip) {
        add_transposed_few(A.data() + first, A.cols(), inner, count, B.data(), p, p, out.data() + first, rows);
      } else {
        add_product_few(A.data() + first * inner, inner, count, inner, Bt.data(), inner, p, out.data() + first * p, p);
      }
    });
    if (flip) out.transposeInPlace();
    return out;
  }
  Matrix<double> C(rows, p);
  gemm<double>(transpose, Transpose::no, rows, B.cols(), inner, 1.0, A.data(), A.cols(), B.data(), B.cols(), 0.0,
               C.data(), C.cols(), execution);
  return C;
}

void add_gram(Index n, Index k, const double* A, Index lda, double* C, Index ldc, const Execution& execution) {
  constexpr Index side = 192;
  for_lower_tiles(count_of(n, side), execution, [&](Index i, Index j) {
    const Index height = std::min(side, n - i * side), breadth = std::min(side, n - j * side);
    const double *left = A + i * side, *right = A + j * side;
    double* const out = C + i * side * ldc + j * side;
    if (i == j) {
      gram<double>(height, k, 1.0, left, lda, 1.0, out, ldc);
    } else {
      gemm<double>(Transpose::yes, Transpose::no, height, breadth, k, 1.0, left, lda, right, lda, 1.0, out, ldc);
    }
  });
}

// Right-looking: the tile on the diagonal is factored, those below it are multiplied by its inverse, and their products
// leave all tiles to their right.
template <Real T>
bool cholesky(Index n, T* A, Index lda, const Execution& execution) {
  if constexpr (std::same_as<T, double>) {
    if (const std::optional<bool> positive = factor_on_device(n, A, lda, execution)) return *positive;
  }
  const Index side = factor_tile(n), t = count_of(n, side);
  const auto size = [&](Index i) { return std::min(side, n - i * side); };
  const auto tile = [&](Index i, Index j) { return A + i * side * lda + j * side; };
  for (Index k = 0; k < t; ++k) {
    if (!cholesky(size(k), tile(k, k), lda)) return false;
    const Index below = t - k - 1;
    parallel_for(below, execution.thread_count(), [&](Index task, int worker) {
      execution.poll(worker);
      const Index i = k + 1 + task;
      right_solve_transposed(size(i), size(k), tile(k, k), lda, tile(i, k), lda);
    });
    for_lower_tiles(below, execution, [&](Index a, Index b) {
      const Index i = k + 1 + a, j = k + 1 + b;
      if (i == j) {
        subtract_own_product(size(i), size(k), tile(i, k), lda, tile(i, i), lda);
      } else {
        gemm<T>(Transpose::no, Transpose::yes, size(i), size(j), size(k), T(-1), tile(i, k), lda, tile(j, k), lda, T(1),
                tile(i, j), lda);
      }
    });
  }
  return true;
}
template bool cholesky(Index, float*, Index, const Execution&);
template bool cholesky(Index, double*, Index, const Execution&);

namespace {

constexpr Index solved_rows = 256;        // of a block of a system with few columns
constexpr Index fewest_in_blocks = 1024;  // order of such a system

// L X = B by blocks: X_k = L_kk^-1 B_k, then B_i -= L_ik X_k for all i > k.
template <Real T>
void solve_in_blocks(Index n, Index m, const T* L, Index lda, T* X, Index ldx, const Execution& execution) {
  Matrix<T> minus(m, solved_rows);
  for (Index k = 0; k < n; k += solved_rows) {
    const Index count = std::min(solved_rows, n - k);
    lower_solve(count, m, L + k * lda + k, lda, X + k * ldx, ldx);
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < m; ++j) minus(j, i) = -X[(k + i) * ldx + j];
    }
    for_panels(n - k - count, solved_rows, execution, [&](Index first, Index rows) {
      const Index i = k + count + first;
      add_product_few(L + i * lda + k, lda, rows, count, minus.data(), solved_rows, m, X + i * ldx, ldx);
    });
  }
}

// Lᵀ X = B from the end: X_k = L_kk^-T B_k, then B_j -= L_kjᵀ X_k for all j < k.
template <Real T>
void solve_transposed_in_blocks(Index n, Index m, const T* L, Index lda, T* X, Index ldx, const Execution& execution) {
  Matrix<T> minus(solved_rows, m);
  for (Index k = (n - 1) / solved_rows * solved_rows; k >= 0; k -= solved_rows) {
    const Index count = std::min(solved_rows, n - k);
    lower_transposed_solve(count, m, L + k * lda + k, lda, X + k * ldx, ldx);
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < m; ++j) minus(i, j) = -X[(k + i) * ldx + j];
    }
    for_panels(k, solved_rows, execution, [&](Index first, Index columns) {
      Matrix<T> change = Matrix<T>::Zero(m, columns);
      add_transposed_few(L + k * lda + first, lda, count, columns, minus.data(), m, m, change.data(), columns);
      for (Index j = 0; j < columns; ++j) {
        for (Index c = 0; c < m; ++c) X[(first + j) * ldx + c] += change(c, j);
      }
    });
  }
}

}  // namespace

template <Real T>
void cholesky_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx, const Execution& execution) {
  if (m <= narrow_product && n >= fewest_in_blocks) {
    solve_in_blocks(n, m, L, lda, X, ldx, execution);
    return solve_transposed_in_blocks(n, m, L, lda, X, ldx, execution);
  }
  for_panels(m, columns_a_task, execution,
             [&](Index first, Index count) { cholesky_solve(n, count, L, lda, X + first, ldx); });
}
template void cholesky_solve(Index, Index, const float*, Index, float*, Index, const Execution&);
template void cholesky_solve(Index, Index, const double*, Index, double*, Index, const Execution&);

void lower_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx, const Execution& execution) {
  for_panels(m, columns_a_task, execution,
             [&](Index first, Index count) { lower_solve(n, count, L, lda, X + first, ldx); });
}

void lower_transposed_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx,
                            const Execution& execution) {
  for_panels(m, columns_a_task, execution,
             [&](Index first, Index count) { lower_transposed_solve(n, count, L, lda, X + first, ldx); });
}

// It is lower triangular: columns from `first` on need rows from `first` on.
Matrix<double> lower_inverse(Index n, const double* L, Index lda, const Execution& execution) {
  Matrix<double> M = Matrix<double>::Identity(n, n);
  for_panels(n, columns_a_task, execution, [&](Index first, Index count) {
    lower_solve(n - first, count, L + first * lda + first, lda, M.data() + first * n + first, n);
  });
  return M;
}

// (L Lᵀ)⁻¹ = MᵀM with M = L⁻¹
void cholesky_inverse(Index n, double* L, Index lda, const Execution& execution) {
  const Matrix<double> M = lower_inverse(n, L, lda, execution);
  constexpr Index side = 192;
  for_lower_tiles(count_of(n, side), execution, [&](Index i, Index j) {
    const Index height = std::min(side, n - i * side), breadth = std::min(side, n - j * side), first = i * side;
    Matrix<double> tile(height, breadth);
    gemm<double>(Transpose::yes, Transpose::no, height, breadth, n - first, 1.0, M.data() + first * n + first, n,
                 M.data() + first * n + j * side, n, 0.0, tile.data(), breadth);
    for (Index r = 0; r < height; ++r) {
      const Index columns = i == j ? r + 1 : breadth;
      std::copy_n(tile.row(r).data(), columns, L + (first + r) * lda + j * side);
    }
  });
}

// The eigenvalues of Eigen are found one by one: beyond this order division into halves is quicker.
void small_symmetric_eigen(Index n, double* A, Index lda, double* values, const Execution& execution) {
  constexpr Index small = 128;
  if (n > small) return symmetric_eigen(n, A, lda, values, execution);
  if (n == 0) return;
  Eigen::Map<Matrix<double>, 0, Eigen::OuterStride<>> view(A, n, n, Eigen::OuterStride<>(lda));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> found(Eigen::MatrixXd(view.selfadjointView<Eigen::Lower>()));
  require(found.info() == Eigen::Success,
          "the eigenvalues of a symmetric {} x {} matrix did not converge; does it hold NaN?", n, n);
  Eigen::Map<Vector<double>>(values, n) = found.eigenvalues();
  view = found.eigenvectors().transpose();
}

}  // namespace carmina::backend
