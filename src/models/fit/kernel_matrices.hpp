// models/fit/kernel_matrices.hpp -- kernel matrices of all rows, made a few columns at a time.
#pragma once
#include "backends/tiled.hpp"
#include "features/map_operations.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <concepts>

namespace carmina {

constexpr Index kernel_rows_together = 512;  // columns of a kernel matrix made together

// K(X, X), lower triangle, in double.
template <Real T>
Matrix<double> exact_gram(const ScalarKernel& kernel, const Matrix<T>& X, const InputTransform& transform,
                          const Execution& execution) {
  const Index n = X.rows();
  Matrix<double> K(n, n);
  for (Index first = 0; first < n; first += kernel_rows_together) {
    execution.checkpoint({"kernel", first, n});
    const Index count = std::min(kernel_rows_together, n - first), below = n - first;
    const KernelMap<T> map(kernel, X.middleRows(first, count), transform);
    auto target = K.block(first, first, below, count);
    if constexpr (std::same_as<T, double>) {
      evaluate(map, X.bottomRows(below), View<T>(target), execution);
    } else {
      Matrix<T> block(below, count);
      evaluate(map, X.bottomRows(below), View<T>(block), execution);
      target = block.template cast<double>();
    }
  }
  return K;
}

// The same matrix, by its lower triangle; Error where a value is not a finite number.
inline Matrix<double> finite_kernel_matrix(Matrix<double> K) {
  for (Index i = 0; i < K.rows(); ++i) {
    require(K.row(i).head(i + 1).allFinite(),
            "fit: the kernel's values are not finite numbers: the inputs are too large for its parameters; scale the "
            "inputs, or take a wider kernel or one of a lower degree");
  }
  return K;
}

// phi phiᵀ, lower triangle.
template <Real T>
Matrix<double> dual_gram(const Matrix<T>& phi, const Execution& execution) {
  const Index n = phi.rows(), m = phi.cols();
  Matrix<double> K(n, n);
  Matrix<T> block;
  for (Index first = 0; first < n; first += kernel_rows_together) {
    execution.checkpoint({"kernel", first, n});
    const Index rows = std::min(kernel_rows_together, n - first), before = first + rows;
    block.resize(rows, before);
    backend::gemm<T>(backend::Transpose::no, backend::Transpose::yes, rows, before, m, T(1), phi.row(first).data(), m,
                     phi.data(), m, T(0), block.data(), before, execution);
    K.block(first, 0, rows, before) = block.template cast<double>();
  }
  return K;
}

// The same with products and sums in double, some features at a time: what of K is far below the rounding of float.
inline Matrix<double> fine_dual_gram(const Matrix<float>& phi, const Execution& execution) {
  constexpr Index features_together = 256;
  const Index n = phi.rows(), m = phi.cols();
  Matrix<double> K = Matrix<double>::Zero(n, n), some;
  for (Index first = 0; first < m; first += features_together) {
    execution.checkpoint({"kernel", first, m});
    const Index count = std::min(features_together, m - first);
    some = phi.middleCols(first, count).transpose().cast<double>();
    backend::add_gram(n, count, some.data(), n, K.data(), n, execution);
  }
  return K;
}

// The upper triangle from the lower, a square at a time.
inline void mirror_lower(Matrix<double>& K, const Execution& execution) {
  constexpr Index side = 64;
  const Index n = K.rows();
  parallel_for((n + side - 1) / side, execution.thread_count(), [&](Index task, int) {
    const Index i = task * side, height = std::min(side, n - i);
    for (Index j = 0; j < i; j += side) K.block(j, i, side, height) = K.block(i, j, height, side).transpose();
    for (Index k = i; k < i + height; ++k) {
      for (Index l = i; l < k; ++l) K(l, k) = K(k, l);
    }
  });
}

// phiᵀ C in double.
template <Real T>
Matrix<double> transposed_product(const Matrix<T>& phi, const Matrix<double>& C, const Execution& execution) {
  const Index m = phi.cols(), q = C.cols();
  Matrix<double> out = Matrix<double>::Zero(m, q);
  for (Index first = 0; first < phi.rows(); first += kernel_rows_together) {
    const Index rows = std::min(kernel_rows_together, phi.rows() - first);
    const Matrix<double> block = phi.middleRows(first, rows).template cast<double>();
    backend::gemm<double>(backend::Transpose::yes, backend::Transpose::no, m, q, rows, 1, block.data(), m,
                          C.row(first).data(), q, 1, out.data(), q, execution);
  }
  return out;
}

// Coefficients c (n, q) of rows with K c = values, K whole, may be so large that predictions, in numbers of these
// digits, lose what is to be seen of the targets' reach: rows that are nearly equal ask for large ones that cancel.
// Then they are made as short as values allow, which are the fit's own, more exact than any K c.
void shorten(Matrix<double>& c, const Matrix<double>& values, Matrix<double> K, double digits, double reach,
             const Execution& execution);

// U / sqrt(mu) (order, rank) of a positive semi-definite H = U diag(mu) Uᵀ, by the eigenvalues that are not rounding
// (mathematics.md 2b) and above `floor`.
Matrix<double> whitening(Matrix<double> H, const Execution& execution, double floor = 0);

}  // namespace carmina
