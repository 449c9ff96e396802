// backends/cpu/panel_loops.hpp -- products of rows with a panel of rows, finished in registers: a cosine and a sine, or
// a squared distance, of each. One instance per instruction set.
//
// A product is always the same chain of multiply-adds along the inputs, wherever its row and its panel's row stand, so
// that values do not depend on how rows and columns were cut into tiles.
#pragma once
#include "backends/cpu/elementary.hpp"

#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace carmina::backend {

// A panel: `registers_across` registers of its rows for each input, contiguous.
template <class V>
constexpr int registers_across = V::width > 1 ? 2 : 4;
template <class V>
constexpr Index panel_rows = registers_across<V> * V::width;

template <class V, int N>
struct PanelSums {
  typename V::Register at[N][registers_across<V>];
};

// sums += X P for N rows of X and one panel P (dim, panel_rows)
template <class V, int N>
inline void add_panel(const typename V::Scalar* X, Index ldx, Index dim, const typename V::Scalar* panel,
                      PanelSums<V, N>& sums) {
  constexpr int C = registers_across<V>;
  for (Index k = 0; k < dim; ++k) {
    typename V::Register w[C];
    for (int c = 0; c < C; ++c) w[c] = V::load(panel + k * panel_rows<V> + c * V::width);
    for (int i = 0; i < N; ++i) {
      const auto x = V::broadcast(X[i * ldx + k]);
      for (int c = 0; c < C; ++c) sums.at[i][c] = V::multiply_add(x, w[c], sums.at[i][c]);
    }
  }
}

// The part [from, to) of a panel's results goes to out; a whole panel directly, else by way of a copy.
template <class V>
struct PanelWindow {
  Index from, to;
  bool whole() const { return from == 0 && to == panel_rows<V>; }
  void copy(const typename V::Scalar* results, typename V::Scalar* out) const {
    std::memcpy(out, results + from, static_cast<std::size_t>(to - from) * sizeof(*out));
  }
};

// Results that are read soon, or that go `past` the caches: lines that are written as a whole need not be fetched
// before.
template <class V, bool past>
[[gnu::always_inline]] inline void put(typename V::Scalar* to, typename V::Register r) {
  if constexpr (past) {
    V::stream(to, r);
  } else {
    V::store(to, r);
  }
}

// Sums of a panel's products that begin at `starts`, or at 0 where there are none.
template <class V, int N>
inline void begin_sums(const typename V::Scalar* starts, PanelSums<V, N>& sums) {
  for (int c = 0; c < registers_across<V>; ++c) {
    const auto start = starts ? V::load(starts + c * V::width) : V::broadcast(0);
    for (auto& row : sums.at) row[c] = start;
  }
}

// `near`: every phase, in quarter turns, is small enough for QuarterWaves. `past` is for whole windows alone.
template <class V, int N, bool near, bool past>
void sincos_panel(const typename V::Scalar* X, Index ldx, Index dim, const typename V::Scalar* panel,
                  PanelWindow<V> window, const QuarterWaves<V>& waves, typename V::Scalar* cosines,
                  typename V::Scalar* sines, Index ldo) {
  using T = typename V::Scalar;
  constexpr int C = registers_across<V>;
  PanelSums<V, N> turns;
  begin_sums<V, N>(nullptr, turns);
  add_panel<V, N>(X, ldx, dim, panel, turns);
  T cosine_copy[panel_rows<V>], sine_copy[panel_rows<V>];
  const bool whole = window.whole();
  for (int i = 0; i < N; ++i) {
    T* const to_cosines = whole ? cosines + i * ldo : cosine_copy;
    T* const to_sines = whole ? sines + i * ldo : sine_copy;
    for (int c = 0; c < C; ++c) {
      typename V::Register sine, cosine;
      waves(near ? turns.at[i][c] : within_four<V>(turns.at[i][c]), sine, cosine);
      put<V, past>(to_cosines + c * V::width, cosine);
      put<V, past>(to_sines + c * V::width, sine);
    }
    if (!whole) {
      window.copy(cosine_copy, cosines + i * ldo);
      window.copy(sine_copy, sines + i * ldo);
    }
  }
}

// The cosines alone, of half turns that begin at `starts`.
template <class V, int N, bool near, bool past>
void cosine_panel(const typename V::Scalar* X, Index ldx, Index dim, const typename V::Scalar* panel,
                  const typename V::Scalar* starts, PanelWindow<V> window, const HalfWaves<V>& waves,
                  typename V::Scalar* out, Index ldo) {
  using T = typename V::Scalar;
  constexpr int C = registers_across<V>;
  PanelSums<V, N> turns;
  begin_sums<V, N>(starts, turns);
  add_panel<V, N>(X, ldx, dim, panel, turns);
  T copy[panel_rows<V>];
  const bool whole = window.whole();
  for (int i = 0; i < N; ++i) {
    T* const to = whole ? out + i * ldo : copy;
    for (int c = 0; c < C; ++c) {
      put<V, past>(to + c * V::width, waves(near ? turns.at[i][c] : within_four<V>(turns.at[i][c])));
    }
    if (!whole) window.copy(copy, out + i * ldo);
  }
}

template <class V, int N>
void distance_panel(const typename V::Scalar* X, Index ldx, Index dim, const typename V::Scalar* norms,
                    const typename V::Scalar* panel, const typename V::Scalar* panel_norms, PanelWindow<V> window,
                    typename V::Scalar* out, Index ldo) {
  using T = typename V::Scalar;
  constexpr int C = registers_across<V>;
  PanelSums<V, N> products;
  begin_sums<V, N>(nullptr, products);
  add_panel<V, N>(X, ldx, dim, panel, products);
  T copy[panel_rows<V>];
  const bool whole = window.whole();
  for (int i = 0; i < N; ++i) {
    T* const to = whole ? out + i * ldo : copy;
    const auto norm = V::broadcast(norms[i]);
    for (int c = 0; c < C; ++c) {
      const auto both = V::add(norm, V::load(panel_norms + c * V::width));
      const auto distance = V::multiply_add(products.at[i][c], V::broadcast(-2), both);
      V::store(to + c * V::width, V::maximum(distance, V::broadcast(0)));
    }
    if (!whole) window.copy(copy, out + i * ldo);
  }
}

// body<N>(first row) for stretches of N rows, then one by one.
template <class V, class Body>
void for_rows(Index rows, const Body& body) {
  constexpr int N = V::registers >= 32 ? 8 : 4;
  Index i = 0;
  for (; i + N <= rows; i += N) body.template operator()<N>(i);
  for (; i < rows; ++i) body.template operator()<1>(i);
}

// body(panel, window, column of its first result) for the panels that hold [first, first + count). Inside of for_rows,
// so that results are written along rows.
template <class V, class Body>
[[gnu::always_inline]] inline void for_panels(Index first, Index count, const Body& body) {
  constexpr Index width = panel_rows<V>;
  for (Index at = first / width * width; at < first + count; at += width) {
    const PanelWindow<V> window{std::max<Index>(0, first - at), std::min(width, first + count - at)};
    body(at / width, window, at + window.from - first);
  }
}

// Rows one by one are few: those that remain, or are far. They go by way of the caches, which saves their loops a copy.
template <int N, bool near>
constexpr bool many_rows = near && N > 1;

// body<N, near>(first row) for stretches of rows, by whether their turns are near. `largest` bounds the lengths of the
// panels' rows: |<x, w>| <= |x| |w|, so that one look at a row tells.
template <class V, class Body>
void for_near_rows(const typename V::Scalar* X, Index ldx, Index rows, Index dim, double largest, const Body& body) {
  using T = typename V::Scalar;
  const double limit = static_cast<double>(Elementary<T>::largest_turns) / largest;
  const auto near = [&](const T* x) {
    double square = 0;
    for (Index k = 0; k < dim; ++k) square += static_cast<double>(x[k]) * static_cast<double>(x[k]);
    return square <= limit * limit;  // false for NaN
  };
  for_rows<V>(rows, [&]<int N>(Index row) {
    int close = 0;
    for (int i = 0; i < N; ++i) close += near(X + (row + i) * ldx);
    if (close == N) return body.template operator()<N, true>(row);
    for (Index i = row; i < row + N; ++i) {
      if (near(X + i * ldx)) {
        body.template operator()<1, true>(i);
      } else {
        body.template operator()<1, false>(i);
      }
    }
  });
}

// body<past>() for results `offsets` after one another: past the caches where that is wished for and lines are written
// as a whole.
template <class V, class Body>
void choose_past(bool wished, Index first, Index count, const typename V::Scalar* out,
                 std::initializer_list<Index> offsets, const Body& body) {
  constexpr Index line = 64;
  const auto aligned = [](auto bytes) { return bytes % line == 0; };
  bool past = wished && first % panel_rows<V> == 0 && count % panel_rows<V> == 0 &&
              aligned(reinterpret_cast<std::uintptr_t>(out));
  for (const Index offset : offsets) past = past && aligned(offset * static_cast<Index>(sizeof(*out)));
  if (!past) return body.template operator()<false>();
  body.template operator()<true>();
  V::fence();
}

template <class V>
void sincos_products_loop(const typename V::Scalar* X, Index ldx, Index rows, Index dim,
                          const typename V::Scalar* panels, double largest, Index first, Index count,
                          typename V::Scalar scale, typename V::Scalar* out, Index part_offset, Index ldo, bool past) {
  const QuarterWaves<V> waves(scale);
  choose_past<V>(past, first, count, out, {part_offset, ldo}, [&]<bool past_caches>() {
    for_near_rows<V>(X, ldx, rows, dim, largest, [&]<int N, bool near>(Index row) {
      for_panels<V>(first, count, [&](Index panel, const PanelWindow<V>& window, Index column) {
        auto* const to = out + row * ldo + column;
        sincos_panel<V, N, near, past_caches && many_rows<N, near>>(
            X + row * ldx, ldx, dim, panels + panel * dim * panel_rows<V>, window, waves, to, to + part_offset, ldo);
      });
    });
  });
}

template <class V>
void cosine_products_loop(const typename V::Scalar* X, Index ldx, Index rows, Index dim,
                          const typename V::Scalar* panels, const typename V::Scalar* starts, double largest,
                          Index first, Index count, typename V::Scalar scale, typename V::Scalar* out, Index ldo,
                          bool past) {
  const HalfWaves<V> waves(scale);
  choose_past<V>(past, first, count, out, {ldo}, [&]<bool past_caches>() {
    for_near_rows<V>(X, ldx, rows, dim, largest, [&]<int N, bool near>(Index row) {
      for_panels<V>(first, count, [&](Index panel, const PanelWindow<V>& window, Index column) {
        cosine_panel<V, N, near, past_caches && many_rows<N, near>>(
            X + row * ldx, ldx, dim, panels + panel * dim * panel_rows<V>, starts + panel * panel_rows<V>, window,
            waves, out + row * ldo + column, ldo);
      });
    });
  });
}

template <class V>
void distances_loop(const typename V::Scalar* X, Index ldx, Index rows, Index dim, const typename V::Scalar* norms,
                    const typename V::Scalar* panels, const typename V::Scalar* panel_norms, Index first, Index count,
                    typename V::Scalar* out, Index ldo) {
  for_rows<V>(rows, [&]<int N>(Index row) {
    for_panels<V>(first, count, [&](Index panel, const PanelWindow<V>& window, Index column) {
      distance_panel<V, N>(X + row * ldx, ldx, dim, norms + row, panels + panel * dim * panel_rows<V>,
                           panel_norms + panel * panel_rows<V>, window, out + row * ldo + column, ldo);
    });
  });
}

}  // namespace carmina::backend
