// playground/backend.cpp -- the products and factorisations of backends/, by Eigen: the browser has no threads.
#include "backends/hadamard.hpp"
#include "backends/tiled.hpp"
#include "random/quantiles.hpp"

#include <carmina/core/error.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cstdlib>
#include <type_traits>

// Numbers that the page gives are in range, so no message is ever put together.
void carmina::throw_error(std::string_view, std::span<const formatting::Value>) { std::abort(); }
std::string carmina::formatting::format(std::string_view text, std::span<const Value>) { return std::string(text); }

// One thread, and nobody who waits for progress.
int carmina::Execution::thread_count() const { return 1; }
void carmina::Execution::checkpoint(const Progress&) const {}
void carmina::parallel_for(Index tasks, int, const std::function<void(Index, int)>& body) {
  for (Index task = 0; task < tasks; ++task) body(task, 0);
}

// Frequencies of the playground are independent ones: neither structured nor quasi-random.
void carmina::backend::hadamard_products(const double*, Index, Index, Index, const double*, const double*, Index,
                                         double*, Index) {
  std::abort();
}
double carmina::normal_quantile(double) { std::abort(); }
double carmina::gamma_quantile(double, double) { std::abort(); }
carmina::Matrix<double> carmina::sobol_points(Index, Index, const Random&) { std::abort(); }

namespace carmina::backend {
namespace {

// A or its part (rows, columns), row stride `stride`.
template <class T>
auto view(T* A, Index rows, Index columns, Index stride) {
  using Plain = Matrix<std::remove_const_t<T>>;
  using Kept = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;
  return Eigen::Map<Kept, 0, Eigen::OuterStride<>>(A, rows, columns, Eigen::OuterStride<>(stride));
}

// C (m, n) += A B, row by row: Eigen has no vectors of the browser's, and the compiler makes some of plain loops. Four
// rows of B share what is read of C.
template <Real T, class Right>
void add_product(const Matrix<T>& A, const Right& B, T* C, Index ldc) {
  constexpr Index tile = 64;
  const Index m = A.rows(), n = B.cols(), k = A.cols();
  for (Index first = 0; first < n; first += tile) {
    const Index width = std::min(tile, n - first);
    for (Index i = 0; i < m; ++i) {
      T* __restrict const c = C + i * ldc + first;
      Index l = 0;
      for (; l + 4 <= k; l += 4) {
        const T* const a = A.row(i).data() + l;
        const Index step = B.outerStride();
        const T *b0 = B.data() + l * step + first, *b1 = b0 + step, *b2 = b1 + step, *b3 = b2 + step;
        const T a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
        for (Index j = 0; j < width; ++j) c[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
      }
      for (; l < k; ++l) {
        const T a0 = A(i, l);
        const T* const b0 = B.data() + l * B.outerStride() + first;
        for (Index j = 0; j < width; ++j) c[j] += a0 * b0[j];
      }
    }
  }
}

}  // namespace

template <Real T>
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B, Index ldb,
          T beta, T* C, Index ldc, const Execution&) {
  const Matrix<T> a =
      ta == Transpose::yes ? Matrix<T>(alpha * view(A, k, m, lda).transpose()) : alpha * view(A, m, k, lda);
  const Matrix<T> b = tb == Transpose::yes ? Matrix<T>(view(B, n, k, ldb).transpose()) : Matrix<T>(view(B, k, n, ldb));
  auto c = view(C, m, n, ldc);
  if (beta == T(0)) c.setZero();
  if (beta != T(0) && beta != T(1)) c *= beta;
  add_product(a, b, C, ldc);
}
template <Real T>
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B, Index ldb,
          T beta, T* C, Index ldc) {
  gemm<T>(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, Execution{});
}
template void gemm(Transpose, Transpose, Index, Index, Index, double, const double*, Index, const double*, Index,
                   double, double*, Index, const Execution&);
template void gemm(Transpose, Transpose, Index, Index, Index, double, const double*, Index, const double*, Index,
                   double, double*, Index);

template <Real T>
void gram(Index n, Index k, T alpha, const T* A, Index lda, T beta, T* C, Index ldc) {
  auto c = view(C, n, n, ldc);
  if (beta != T(1)) c.template triangularView<Eigen::Lower>() = Matrix<T>(beta * c);
  c.template selfadjointView<Eigen::Lower>().rankUpdate(view(A, k, n, lda).transpose(), alpha);
}
template void gram(Index, Index, double, const double*, Index, double, double*, Index);

Matrix<double> product(Transpose transpose, const Matrix<double>& A, const Matrix<double>& B, const Execution&) {
  const Matrix<double> left = transpose == Transpose::yes ? Matrix<double>(A.transpose()) : A;
  Matrix<double> C = Matrix<double>::Zero(left.rows(), B.cols());
  add_product(left, B, C.data(), C.cols());
  return C;
}

void add_gram(Index n, Index k, const double* A, Index lda, double* C, Index ldc, const Execution&) {
  gram<double>(n, k, 1, A, lda, 1, C, ldc);
}

template <Real T>
Matrix<T> zeros(Index rows, Index columns, const Execution&) {
  return Matrix<T>::Zero(rows, columns);
}
template Matrix<double> zeros(Index, Index, const Execution&);

// A block of columns, then what it takes off the rows below, as products.
template <Real T>
bool cholesky(Index n, T* A, Index lda, const Execution&) {
  constexpr Index block = 16;
  for (Index k = 0; k < n; k += block) {
    const Index count = std::min(block, n - k), below = n - k - count;
    auto own = view(A + k * lda + k, count, count, lda);
    View<T> in_place(own);
    if (Eigen::LLT<View<T>, Eigen::Lower>(in_place).info() != Eigen::Success) return false;
    if (below == 0) break;
    auto panel = view(A + (k + count) * lda + k, below, count, lda);
    own.template triangularView<Eigen::Lower>().transpose().template solveInPlace<Eigen::OnTheRight>(panel);
    const Matrix<T> turned = -panel.transpose();
    for (Index i = 0; i < below; i += block) {
      const Index rows = std::min(block, below - i);
      add_product(Matrix<T>(panel.middleRows(i, rows)), view(turned.data(), count, i + rows, below),
                  A + (k + count + i) * lda + k + count, lda);
    }
  }
  return true;
}
template bool cholesky(Index, double*, Index, const Execution&);

// Blocks of rows: what the rows before them give is a product, the rest is of a small order.
void lower_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx, const Execution&) {
  constexpr Index block = 16;
  for (Index i = 0; i < n; i += block) {
    const Index count = std::min(block, n - i);
    if (i > 0) add_product(Matrix<double>(-view(L + i * lda, count, i, lda)), view(X, i, m, ldx), X + i * ldx, ldx);
    auto own = view(X + i * ldx, count, m, ldx);
    view(L + i * lda + i, count, count, lda).triangularView<Eigen::Lower>().solveInPlace(own);
  }
}
template <Real T>
void lower_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx) {
  lower_solve(n, m, L, lda, X, ldx, Execution{});
}
template void lower_solve(Index, Index, const double*, Index, double*, Index);
void lower_transposed_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx, const Execution&) {
  auto x = view(X, n, m, ldx);
  view(L, n, n, lda).transpose().triangularView<Eigen::Upper>().solveInPlace(x);
}
template <Real T>
void cholesky_solve(Index n, Index m, const T* L, Index lda, T* X, Index ldx, const Execution& execution) {
  lower_solve(n, m, L, lda, X, ldx, execution);
  lower_transposed_solve(n, m, L, lda, X, ldx, execution);
}
template void cholesky_solve(Index, Index, const double*, Index, double*, Index, const Execution&);

// L^-1, then L^-T L^-1
void cholesky_inverse(Index n, double* L, Index lda, const Execution& execution) {
  Matrix<double> inverse = Matrix<double>::Identity(n, n);
  lower_solve(n, n, L, lda, inverse.data(), n, execution);
  view(L, n, n, lda).triangularView<Eigen::Lower>() = product(Transpose::yes, inverse, inverse, execution);
}

void small_symmetric_eigen(Index n, double* A, Index lda, double* values, const Execution& execution) {
  symmetric_eigen(n, A, lda, values, execution);
}
void symmetric_eigen(Index n, double* A, Index lda, double* values, const Execution&) {
  auto a = view(A, n, n, lda);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> found(a);
  Eigen::Map<Vector<double>>(values, n) = found.eigenvalues();
  a = found.eigenvectors().transpose();
}

}  // namespace carmina::backend
