// backends/cpu/vector_math_loops.hpp -- the loops of vector_math.hpp over any vector type; one instance per
// instruction set. A last partial vector goes through a padded copy, so each number gets the same arithmetic.
#pragma once
#include "backends/cpu/column_loops.hpp"
#include "backends/cpu/panel_loops.hpp"
#include "backends/cpu/product_loops.hpp"
#include "backends/cpu/triangle_loops.hpp"

#include <carmina/core/matrix.hpp>

#include <cmath>
#include <cstring>

namespace carmina::backend {

// The functions of one precision on one instruction set.
template <class T>
struct VectorFunctions {
  void (*sincos)(const T*, T, T*, T*, Index);
  void (*exp)(T*, T, Index);
  void (*product)(const T*, Index, Index, Index, const T*, Index, Index, T*, Index);
  void (*transposed)(const T*, Index, Index, Index, const T*, Index, Index, T*, Index);
  void (*sincos_products)(const T*, Index, Index, Index, const T*, double, Index, Index, T, T*, Index, Index, bool);
  void (*cosine_products)(const T*, Index, Index, Index, const T*, const T*, double, Index, Index, T, T*, Index, bool);
  void (*distances)(const T*, Index, Index, Index, const T*, const T*, const T*, Index, Index, T*, Index);
  double (*multiply_adds)(Index, volatile T&);
  void (*matrix_product)(const ProductTask<T>&);
  bool (*small_cholesky)(Index, T*, Index);
  void (*small_solve)(Side, bool, Index, Index, const T*, Index, T*, Index);
  void (*column_sums)(const T*, Index, Index, Index, const ColumnSums&);
  Index panel_rows;
  Index product_depth;
};

struct VectorMath {
  VectorFunctions<float> of_float;
  VectorFunctions<double> of_double;
  const char* name;
};

// Phases beyond the reduction of elementary.hpp, which are rare: the standard library's functions of each.
template <class V>
[[gnu::noinline, gnu::cold]] void sincos_one_by_one(const typename V::Register& x, typename V::Register& sine,
                                                    typename V::Register& cosine) {
  typename V::Scalar phases[V::width], sines[V::width], cosines[V::width];
  V::store(phases, x);
  for (Index i = 0; i < V::width; ++i) {
    sines[i] = std::sin(phases[i]);
    cosines[i] = std::cos(phases[i]);
  }
  sine = V::load(sines);
  cosine = V::load(cosines);
}

// V gives: Scalar, Register, registers (how many), width, load, store, stream (past the caches), fence (what was
// streamed is seen by others), broadcast, add, subtract, multiply, multiply_add, maximum, round, turn, negate_odd, sum,
// exp, near (whether all are small enough for sincos), sincos and sincos_far (into two registers); and what
// elementary.hpp asks for where it is used. Out of the loop, so that the loop's registers stay where they are.
template <class V>
[[gnu::noinline, gnu::cold]] void sincos_once_far(const typename V::Scalar* x, typename V::Scalar scale,
                                                  typename V::Scalar* cosine, typename V::Scalar* sine) {
  typename V::Register sines, cosines;
  V::sincos_far(V::load(x), sines, cosines);
  V::store(cosine, V::multiply(V::broadcast(scale), cosines));
  V::store(sine, V::multiply(V::broadcast(scale), sines));
}

template <class V>
[[gnu::always_inline]] inline void sincos_once(const typename V::Scalar* x, typename V::Scalar scale,
                                               typename V::Scalar* cosine, typename V::Scalar* sine) {
  const auto phases = V::load(x);
  if (!V::near(phases)) [[unlikely]]
    return sincos_once_far<V>(x, scale, cosine, sine);
  typename V::Register sines, cosines;
  V::sincos(phases, sines, cosines);
  V::store(cosine, V::multiply(V::broadcast(scale), cosines));
  V::store(sine, V::multiply(V::broadcast(scale), sines));
}

template <class V>
void sincos_loop(const typename V::Scalar* x, typename V::Scalar scale, typename V::Scalar* cosine,
                 typename V::Scalar* sine, Index count) {
  Index i = 0;
  for (; i + V::width <= count; i += V::width) sincos_once<V>(x + i, scale, cosine + i, sine + i);
  if (const Index rest = count - i; rest > 0) {
    typename V::Scalar in[V::width] = {}, c[V::width], s[V::width];
    std::memcpy(in, x + i, static_cast<std::size_t>(rest) * sizeof(in[0]));
    sincos_once<V>(in, scale, c, s);
    std::memcpy(cosine + i, c, static_cast<std::size_t>(rest) * sizeof(c[0]));
    std::memcpy(sine + i, s, static_cast<std::size_t>(rest) * sizeof(s[0]));
  }
}

template <class V>
void exp_loop(typename V::Scalar* x, typename V::Scalar scale, Index count) {
  const auto factor = V::broadcast(scale);
  Index i = 0;
  for (; i + V::width <= count; i += V::width) V::store(x + i, V::exp(V::multiply(factor, V::load(x + i))));
  if (const Index rest = count - i; rest > 0) {
    typename V::Scalar in[V::width] = {};
    std::memcpy(in, x + i, static_cast<std::size_t>(rest) * sizeof(in[0]));
    V::store(in, V::exp(V::multiply(factor, V::load(in))));
    std::memcpy(x + i, in, static_cast<std::size_t>(rest) * sizeof(in[0]));
  }
}

template <class V>
double multiply_adds_loop(Index rounds, volatile typename V::Scalar& sink) {
  constexpr int chains = 12;
  typename V::Register sums[chains];
  for (int k = 0; k < chains; ++k) sums[k] = V::broadcast(static_cast<typename V::Scalar>(k));
  const auto factor = V::broadcast(typename V::Scalar(0.5)), term = V::broadcast(typename V::Scalar(1));
  for (Index round = 0; round < rounds; ++round) {
    for (auto& sum : sums) sum = V::multiply_add(sum, factor, term);
  }
  for (const auto& sum : sums) sink = V::sum(sum);
  return 2.0 * chains * static_cast<double>(rounds * V::width);
}

// out (2, P) += two rows of A times P rows of B: each register of A and B is used for several products.
template <class V, int P, int N>
void product_rows(const typename V::Scalar* A, Index lda, Index columns, const typename V::Scalar* B, Index ldb,
                  typename V::Scalar* out, Index ldo) {
  typename V::Register sums[N][P];
  for (auto& row : sums) {
    for (auto& sum : row) sum = V::broadcast(0);
  }
  const Index whole = columns / V::width * V::width;
  for (Index j = 0; j < whole; j += V::width) {
    typename V::Register b[P];
    for (int k = 0; k < P; ++k) b[k] = V::load(B + k * ldb + j);
    for (int i = 0; i < N; ++i) {
      const auto a = V::load(A + i * lda + j);
      for (int k = 0; k < P; ++k) sums[i][k] = V::multiply_add(a, b[k], sums[i][k]);
    }
  }
  for (int i = 0; i < N; ++i) {
    for (int k = 0; k < P; ++k) {
      auto sum = V::sum(sums[i][k]);
      for (Index j = whole; j < columns; ++j) sum += A[i * lda + j] * B[k * ldb + j];
      out[i * ldo + k] += sum;
    }
  }
}

template <class V, int P>
void product_few(const typename V::Scalar* A, Index lda, Index rows, Index columns, const typename V::Scalar* B,
                 Index ldb, typename V::Scalar* out, Index ldo) {
  constexpr int N = V::registers >= 32 ? 4 : 2;
  Index i = 0;
  for (; i + N <= rows; i += N) product_rows<V, P, N>(A + i * lda, lda, columns, B, ldb, out + i * ldo, ldo);
  for (; i < rows; ++i) product_rows<V, P, 1>(A + i * lda, lda, columns, B, ldb, out + i * ldo, ldo);
}

// out (P, columns) += Rᵀ A: C registers of columns are summed over all rows before they are stored.
template <class V, int P, int C>
void transposed_columns(const typename V::Scalar* A, Index lda, Index rows, const typename V::Scalar* R, Index ldr,
                        typename V::Scalar* out, Index ldo) {
  typename V::Register sums[P][C];
  for (int k = 0; k < P; ++k) {
    for (int c = 0; c < C; ++c) sums[k][c] = V::load(out + k * ldo + c * V::width);
  }
  for (Index i = 0; i < rows; ++i) {
    typename V::Register a[C];
    for (int c = 0; c < C; ++c) a[c] = V::load(A + i * lda + c * V::width);
    for (int k = 0; k < P; ++k) {
      const auto r = V::broadcast(R[i * ldr + k]);
      for (int c = 0; c < C; ++c) sums[k][c] = V::multiply_add(r, a[c], sums[k][c]);
    }
  }
  for (int k = 0; k < P; ++k) {
    for (int c = 0; c < C; ++c) V::store(out + k * ldo + c * V::width, sums[k][c]);
  }
}

template <class V, int P>
void transposed_few(const typename V::Scalar* A, Index lda, Index rows, Index columns, const typename V::Scalar* R,
                    Index ldr, typename V::Scalar* out, Index ldo) {
  constexpr int C = V::registers >= 32 ? 4 : 2;
  Index j = 0;
  for (; j + C * V::width <= columns; j += C * V::width)
    transposed_columns<V, P, C>(A + j, lda, rows, R, ldr, out + j, ldo);
  for (; j + V::width <= columns; j += V::width) transposed_columns<V, P, 1>(A + j, lda, rows, R, ldr, out + j, ldo);
  for (; j < columns; ++j) {
    for (int k = 0; k < P; ++k) {
      typename V::Scalar sum = 0;
      for (Index i = 0; i < rows; ++i) sum += R[i * ldr + k] * A[i * lda + j];
      out[k * ldo + j] += sum;
    }
  }
}

// Four columns at a time, then what is left.
template <class V>
void product_loop(const typename V::Scalar* A, Index lda, Index rows, Index columns, const typename V::Scalar* B,
                  Index ldb, Index p, typename V::Scalar* out, Index ldo) {
  for (; p >= 4; p -= 4, B += 4 * ldb, out += 4) product_few<V, 4>(A, lda, rows, columns, B, ldb, out, ldo);
  if (p == 3) product_few<V, 3>(A, lda, rows, columns, B, ldb, out, ldo);
  if (p == 2) product_few<V, 2>(A, lda, rows, columns, B, ldb, out, ldo);
  if (p == 1) product_few<V, 1>(A, lda, rows, columns, B, ldb, out, ldo);
}
template <class V>
void transposed_loop(const typename V::Scalar* A, Index lda, Index rows, Index columns, const typename V::Scalar* R,
                     Index ldr, Index p, typename V::Scalar* out, Index ldo) {
  for (; p >= 4; p -= 4, R += 4, out += 4 * ldo) transposed_few<V, 4>(A, lda, rows, columns, R, ldr, out, ldo);
  if (p == 3) transposed_few<V, 3>(A, lda, rows, columns, R, ldr, out, ldo);
  if (p == 2) transposed_few<V, 2>(A, lda, rows, columns, R, ldr, out, ldo);
  if (p == 1) transposed_few<V, 1>(A, lda, rows, columns, R, ldr, out, ldo);
}

// Products of matrices, and what is left of factors, on registers P, which may be wider than V.
template <class V, class P>
VectorFunctions<typename V::Scalar> functions_of() {
  return {sincos_loop<V>,          exp_loop<V>,
          product_loop<V>,         transposed_loop<V>,
          sincos_products_loop<V>, cosine_products_loop<V>,
          distances_loop<V>,       multiply_adds_loop<V>,
          matrix_product_loop<P>,  small_cholesky_loop<P>,
          small_solve_loop<P>,     column_sums_loop<P>,
          panel_rows<V>,           panel_depth<P>};
}

template <class Float, class Double, class FloatProducts = Float, class DoubleProducts = Double>
VectorMath vector_math_of(const char* name) {
  return {functions_of<Float, FloatProducts>(), functions_of<Double, DoubleProducts>(), name};
}

// Null where the compiler cannot make them.
const VectorMath* avx512_vector_math();
const VectorMath* avx2_vector_math();
const VectorMath* portable_vector_math();

}  // namespace carmina::backend
