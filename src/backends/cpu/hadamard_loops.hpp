// backends/cpu/hadamard_loops.hpp -- the fast Walsh-Hadamard transform over any vector type; one instance per
// instruction set.
//
// H of size 2^k is k steps; step s replaces each pair (x_i, x_(i + 2^s)) by its sum and difference. Steps inside a
// register come first, then three steps at a time on eight registers, so that x is read and written once for the three.
// Nothing of the standard library is instantiated here: the linker might take this file's copy for every machine.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstring>

namespace carmina::backend {

// The arguments of hadamard_products, and room for n numbers.
template <class T>
using HadamardProducts = void (*)(const T*, Index, Index, Index, const T*, const T*, Index, T*, Index, T*);

struct HadamardTable {
  HadamardProducts<float> of_float;
  HadamardProducts<double> of_double;
};

// V gives: Scalar, Register, width, load, store, add, subtract, multiply, transform (the steps inside a register).
template <class V, int R>
inline void butterflies(typename V::Register (&r)[R]) {
#pragma GCC unroll 8
  for (int half = 1; half < R; half *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      if (i & half) continue;
      const auto a = r[i], b = r[i + half];
      r[i] = V::add(a, b);
      r[i + half] = V::subtract(a, b);
    }
  }
}

// The first steps, of strides below R width, on x times the diagonal.
template <class V, int R>
void first_steps(const typename V::Scalar* diagonal, Index n, typename V::Scalar* x) {
  for (Index j = 0; j < n; j += R * V::width) {
    typename V::Register r[R];
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const Index at = j + i * V::width;
      r[i] = V::transform(V::multiply(V::load(x + at), V::load(diagonal + at)));
    }
    butterflies<V, R>(r);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) V::store(x + j + i * V::width, r[i]);
  }
}

// The steps of strides `stride` to R stride / 2. With lengths, the result times these goes to `out`.
template <class V, int R, bool last>
void further_steps(typename V::Scalar* x, Index stride, Index n, const typename V::Scalar* lengths,
                   typename V::Scalar* out) {
  for (Index base = 0; base < n; base += R * stride) {
    for (Index j = base; j < base + stride; j += V::width) {
      typename V::Register r[R];
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) r[i] = V::load(x + j + i * stride);
      butterflies<V, R>(r);
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) {
        const Index at = j + i * stride;
        if constexpr (last) {
          V::store(out + at, V::multiply(V::load(lengths + at), r[i]));
        } else {
          V::store(x + at, r[i]);
        }
      }
    }
  }
}

// x = H D x in place; or, with lengths, out = L H D x, and x is overwritten.
template <class V, bool last>
void transform(const typename V::Scalar* diagonal, Index n, typename V::Scalar* x,
               const typename V::Scalar* lengths = nullptr, typename V::Scalar* out = nullptr) {
  Index stride = n < 8 * V::width ? n : 8 * V::width;
  if (n >= 8 * V::width) {
    first_steps<V, 8>(diagonal, n, x);
  } else if (n == 4 * V::width) {
    first_steps<V, 4>(diagonal, n, x);
  } else if (n == 2 * V::width) {
    first_steps<V, 2>(diagonal, n, x);
  } else {
    first_steps<V, 1>(diagonal, n, x);
  }
  while (n / stride > 8) {
    further_steps<V, 8, false>(x, stride, n, nullptr, nullptr);
    stride *= 8;
  }
  switch (n / stride) {
    case 8:
      return further_steps<V, 8, last>(x, stride, n, lengths, out);
    case 4:
      return further_steps<V, 4, last>(x, stride, n, lengths, out);
    case 2:
      return further_steps<V, 2, last>(x, stride, n, lengths, out);
    default:
      if constexpr (last) further_steps<V, 1, true>(x, n, n, lengths, out);
  }
}

template <class V>
void hadamard_loop(const typename V::Scalar* X, Index ldx, Index rows, Index d, const typename V::Scalar* diagonals,
                   const typename V::Scalar* lengths, Index n, typename V::Scalar* out, Index ldo,
                   typename V::Scalar* x) {
  constexpr auto size = sizeof(typename V::Scalar);
  for (Index i = 0; i < rows; ++i) {
    std::memcpy(x, X + i * ldx, static_cast<std::size_t>(d) * size);
    std::memset(x + d, 0, static_cast<std::size_t>(n - d) * size);
    transform<V, false>(diagonals, n, x);
    transform<V, false>(diagonals + n, n, x);
    transform<V, true>(diagonals + 2 * n, n, x, lengths, out + i * ldo);
  }
}

// Null where the compiler cannot make them.
const HadamardTable* avx512_hadamard();
const HadamardTable* avx2_hadamard();
const HadamardTable* portable_hadamard();

}  // namespace carmina::backend
