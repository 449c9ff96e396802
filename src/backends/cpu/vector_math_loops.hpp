// backends/cpu/vector_math_loops.hpp -- the loops of vector_math.hpp over any vector type; one instance per
// instruction set. A last partial vector goes through a padded copy, so each number gets the same arithmetic.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstring>

namespace carmina::backend {

template <class T>
struct FewColumns {
  void (*product)(const T*, Index, Index, Index, const T*, Index, Index, T*, Index);
  void (*transposed)(const T*, Index, Index, Index, const T*, Index, Index, T*, Index);
};

struct VectorMath {
  void (*sincos_float)(const float*, float, float*, float*, Index);
  void (*sincos_double)(const double*, double, double*, double*, Index);
  void (*exp_float)(float*, float, Index);
  void (*exp_double)(double*, double, Index);
  FewColumns<float> few_float;
  FewColumns<double> few_double;
  const char* name;
};

// V gives: Scalar, Register, width, load, store, broadcast, multiply, multiply_add, sum, sincos (into two registers),
// exp.
template <class V>
void sincos_loop(const typename V::Scalar* x, typename V::Scalar scale, typename V::Scalar* cosine,
                 typename V::Scalar* sine, Index count) {
  const auto factor = V::broadcast(scale);
  const auto one = [&](const typename V::Scalar* from, typename V::Scalar* c, typename V::Scalar* s) {
    typename V::Register sines, cosines;
    V::sincos(V::load(from), sines, cosines);
    V::store(c, V::multiply(factor, cosines));
    V::store(s, V::multiply(factor, sines));
  };
  Index i = 0;
  for (; i + V::width <= count; i += V::width) one(x + i, cosine + i, sine + i);
  if (const Index rest = count - i; rest > 0) {
    typename V::Scalar in[V::width] = {}, c[V::width], s[V::width];
    std::memcpy(in, x + i, static_cast<std::size_t>(rest) * sizeof(in[0]));
    one(in, c, s);
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

template <class Float, class Double>
VectorMath vector_math_of(const char* name) {
  return {sincos_loop<Float>,
          sincos_loop<Double>,
          exp_loop<Float>,
          exp_loop<Double>,
          {product_loop<Float>, transposed_loop<Float>},
          {product_loop<Double>, transposed_loop<Double>},
          name};
}

// Null where the compiler cannot make them.
const VectorMath* avx512_vector_math();
const VectorMath* avx2_vector_math();
const VectorMath* portable_vector_math();

}  // namespace carmina::backend
