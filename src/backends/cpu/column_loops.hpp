// backends/cpu/column_loops.hpp -- sums of columns on one instruction set, each in the order of the rows.
#pragma once
#include "backends/vector_math.hpp"

#include <algorithm>
#include <cstring>

namespace carmina::backend {

// Products and sums are rounded one by one, as they are where rows are added singly.
#ifdef __clang__
#define CARMINA_NO_CONTRACTION
#define CARMINA_NO_CONTRACTION_HERE _Pragma("clang fp contract(off)")
#else
#define CARMINA_NO_CONTRACTION [[gnu::optimize("fp-contract=off")]]
#define CARMINA_NO_CONTRACTION_HERE
#endif

// `count` numbers from memory, as doubles.
template <class Doubles, class T>
[[gnu::always_inline]] inline Doubles load_doubles(const T* x) {
  constexpr std::size_t count = sizeof(Doubles) / sizeof(double);
  using Few [[gnu::vector_size(count * sizeof(T))]] = T;
  Few few;
  std::memcpy(&few, x, sizeof(few));
  return __builtin_convertvector(few, Doubles);
}

// Columns [at, at + width) in one register of doubles.
template <class Doubles, class T>
CARMINA_NO_CONTRACTION void sum_some_columns(const T* X, Index ldx, Index rows, Index at, const ColumnSums& out) {
  CARMINA_NO_CONTRACTION_HERE
  const Doubles first = load_doubles<Doubles>(X + at);
  Doubles sum = first - first, square = sum, low = first, high = first;
  for (Index i = 0; i < rows; ++i) {
    const Doubles x = load_doubles<Doubles>(X + i * ldx + at), offset = x - first;
    sum += offset;
    square += offset * offset;
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  std::memcpy(out.first + at, &first, sizeof(first));
  std::memcpy(out.sum + at, &sum, sizeof(sum));
  std::memcpy(out.square + at, &square, sizeof(square));
  std::memcpy(out.low + at, &low, sizeof(low));
  std::memcpy(out.high + at, &high, sizeof(high));
}

template <class V>
CARMINA_NO_CONTRACTION void sum_one_column(const typename V::Scalar* X, Index ldx, Index rows, Index at,
                                           const ColumnSums& out) {
  CARMINA_NO_CONTRACTION_HERE
  const auto first = static_cast<double>(X[at]);
  double sum = 0, square = 0, low = first, high = first;
  for (Index i = 0; i < rows; ++i) {
    const auto x = static_cast<double>(X[i * ldx + at]);
    const double offset = x - first;
    sum += offset;
    square += offset * offset;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  out.first[at] = first, out.sum[at] = sum, out.square[at] = square, out.low[at] = low, out.high[at] = high;
}

// The last registers' columns overlap those before: a column has the same sums wherever it is.
template <class V>
void column_sums_loop(const typename V::Scalar* X, Index ldx, Index rows, Index columns, const ColumnSums& out) {
  using Doubles [[gnu::vector_size(sizeof(typename V::Register))]] = double;
  constexpr Index width = sizeof(typename V::Register) / sizeof(double);
  if (columns < width) {
    for (Index j = 0; j < columns; ++j) sum_one_column<V>(X, ldx, rows, j, out);
    return;
  }
  for (Index j = 0; j < columns; j += width) {
    sum_some_columns<Doubles>(X, ldx, rows, std::min(j, columns - width), out);
  }
}

}  // namespace carmina::backend
