// models/row_matrices.hpp -- matrices over all rows, for fits that work in the dual: gathered rows and Gram matrices.
#pragma once
#include "summary.hpp"

#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/map_operations.hpp>
#include <carmina/solvers/squared_loss.hpp>

#include <algorithm>
#include <concepts>

namespace carmina {

// All rows with a positive weight, in memory.
template <Real T>
struct GatheredRows {
  Matrix<T> X;
  DualRows dual;
};

template <Real T>
GatheredRows<T> gather(RowSource<T>& rows, const DataSummary& summary, const Vector<double>& origin, Index at_once) {
  const Index n = summary.rows, p = origin.size();
  GatheredRows<T> all{Matrix<T>(n, rows.dim_in()), {Matrix<double>(n, p), Vector<double>(), origin}};
  Vector<double> weights = Vector<double>::Ones(n);
  Index at = 0;
  rows.rewind();
  for (auto block = rows.next(at_once); block.rows > 0; block = rows.next(at_once)) {
    for (Index i = 0; i < block.rows; ++i) {
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1.0;
      if (w == 0) continue;
      require(at < n, "fit: the rows changed while they were read");
      all.X.row(at) = block.inputs().row(i);
      all.dual.targets.row(at) = block.targets().row(i).template cast<double>() - origin.transpose();
      weights[at++] = w;
    }
  }
  if ((weights.array() != 1).any()) all.dual.weights = std::move(weights);
  return all;
}

constexpr Index gram_rows = 512;  // columns of a kernel matrix made together

// K(X, X), lower triangle, in double.
template <Real T>
Matrix<double> exact_gram(const ScalarKernel& kernel, const Matrix<T>& X, const InputTransform& transform,
                          const Execution& execution) {
  const Index n = X.rows();
  Matrix<double> K(n, n);
  for (Index first = 0; first < n; first += gram_rows) {
    execution.checkpoint({"kernel", first, n});
    const Index count = std::min(gram_rows, n - first), below = n - first;
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

// phi phiᵀ, lower triangle.
template <Real T>
Matrix<double> dual_gram(const Matrix<T>& phi, const Execution& execution) {
  const Index n = phi.rows(), m = phi.cols();
  Matrix<double> K(n, n);
  BlasThreads threads(execution.thread_count());
  Matrix<T> block;
  for (Index first = 0; first < n; first += gram_rows) {
    execution.checkpoint({"kernel", first, n});
    const Index rows = std::min(gram_rows, n - first), before = first + rows;
    block.resize(rows, before);
    backend::gemm<T>(backend::Transpose::no, backend::Transpose::yes, rows, before, m, T(1), phi.row(first).data(), m,
                     phi.data(), m, T(0), block.data(), before);
    K.block(first, 0, rows, before) = block.template cast<double>();
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
  BlasThreads threads(execution.thread_count());
  for (Index first = 0; first < phi.rows(); first += gram_rows) {
    const Index rows = std::min(gram_rows, phi.rows() - first);
    const Matrix<double> block = phi.middleRows(first, rows).template cast<double>();
    backend::gemm<double>(backend::Transpose::yes, backend::Transpose::no, m, q, rows, 1, block.data(), m,
                          C.row(first).data(), q, 1, out.data(), q);
  }
  return out;
}

}  // namespace carmina
