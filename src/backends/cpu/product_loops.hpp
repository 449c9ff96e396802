// backends/cpu/product_loops.hpp -- the product of two matrices on one instruction set, in the calling thread.
//
// As in [VanZee2015]: both factors are copied in panels, so that the inner loop reads memory in its order, and a tile
// of C stays in registers while it goes along k. Which tiles there are, and the order of each sum, follow from the
// sizes.
#pragma once
#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace carmina::backend {

// op(A) (m, k), op(B) (k, n) and C (m, n), row-major.
template <class T>
struct ProductTask {
  bool transpose_a, transpose_b;
  Index m, n, k;
  T alpha;
  const T* A;
  Index lda;
  const T* B;
  Index ldb;
  T beta;
  T* C;
  Index ldc;
  bool lower;  // of a square C, the lower triangle alone
};

// A tile of C: rows, and registers of columns. Its sums, two registers of B and one of A fit the registers there are.
template <class V>
constexpr int tile_rows = V::registers >= 32 ? 12 : 6;
template <class V>
constexpr Index tile_columns = 2 * V::width;

// A panel of B (depth, tile_columns) takes 24 KB, which the smallest first cache holds; the rows of A that meet it
// about 192 KB, for the second one.
template <class V>
constexpr Index panel_depth = 24 * 1024 / (tile_columns<V> * static_cast<Index>(sizeof(typename V::Scalar)));
template <class V>
constexpr Index rows_at_once =
    192 * 1024 / (panel_depth<V> * static_cast<Index>(sizeof(typename V::Scalar))) / tile_rows<V> * tile_rows<V>;
constexpr Index columns_at_once = 1024;

// Memory of a thread, kept from call to call. (Everything here depends on V, so that no instruction set gets a function
// that was compiled for another one.)
template <class V>
typename V::Scalar* product_memory(int which, Index count) {
  using T = typename V::Scalar;
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  thread_local std::unique_ptr<T[], Free> memory[2];
  thread_local Index held[2] = {0, 0};
  if (held[which] < count) {
    memory[which].reset();
    held[which] = 0;
    memory[which].reset(
        static_cast<T*>(::operator new[](static_cast<std::size_t>(count) * sizeof(T), std::align_val_t{64})));
    held[which] = count;
  }
  return memory[which].get();
}

// out = inᵀ for four rows and columns.
template <class V>
inline void transpose_four(const typename V::Scalar* in, Index ld, typename V::Scalar* out, Index ldo) {
  using T = typename V::Scalar;
  using Four [[gnu::vector_size(4 * sizeof(T))]] = T;
  Four r[4], u[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&r[i], in + i * ld, sizeof(Four));
  u[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  u[1] = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  u[2] = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  u[3] = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(u[0], u[2], 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(u[0], u[2], 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(u[1], u[3], 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(u[1], u[3], 2, 3, 6, 7);
  for (int i = 0; i < 4; ++i) std::memcpy(out + i * ldo, &r[i], sizeof(Four));
}

// `count` of M's lines, from line `first` and place `start` on, in panels of `width` lines: out[panel][depth][width],
// the last panel filled up with zeros. A line is a row of M, or (columns) a column.
template <class V, Index width, class T>
void pack_panels(const T* M, Index ld, bool columns, Index first, Index count, Index start, Index depth, T* out) {
  const Index whole = count / width * width, rest = count - whole;
  if (columns) {
    for (Index k = 0; k < depth; ++k) {  // in the order of memory
      const T* from = M + (start + k) * ld + first;
      T* to = out + k * width;
      for (Index at = 0; at < whole; at += width, to += width * depth) std::memcpy(to, from + at, width * sizeof(T));
      for (Index i = 0; rest > 0 && i < width; ++i) to[i] = i < rest ? from[whole + i] : T(0);
    }
    return;
  }
  for (Index at = 0; at < count; at += width, out += width * depth) {
    const Index lines = std::min(width, count - at);
    const T* const from = M + (first + at) * ld + start;
    Index i = 0;
    for (; i + 4 <= lines; i += 4) {
      Index k = 0;
      for (; k + 4 <= depth; k += 4) transpose_four<V>(from + i * ld + k, ld, out + k * width + i, width);
      for (; k < depth; ++k) {
        for (Index r = i; r < i + 4; ++r) out[k * width + r] = from[r * ld + k];
      }
    }
    for (; i < width; ++i) {
      for (Index k = 0; k < depth; ++k) out[k * width + i] = i < lines ? from[i * ld + k] : T(0);
    }
  }
}

// C = beta C + alpha a b for `across` registers of a tile, a (depth, tile_rows) and b (depth, tile_columns) packed.
template <class V, int across>
void tile_product(Index depth, const typename V::Scalar* a, const typename V::Scalar* b, typename V::Scalar alpha,
                  typename V::Scalar beta, typename V::Scalar* C, Index ldc) {
  constexpr int M = tile_rows<V>;
  typename V::Register sums[M][across];
  for (auto& row : sums) {
    for (auto& sum : row) sum = V::broadcast(0);
  }
  for (Index k = 0; k < depth; ++k, a += M, b += tile_columns<V>) {
    typename V::Register y[across];
    for (int c = 0; c < across; ++c) y[c] = V::load(b + c * V::width);
    for (int i = 0; i < M; ++i) {
      const auto x = V::broadcast(a[i]);
      for (int c = 0; c < across; ++c) sums[i][c] = V::multiply_add(x, y[c], sums[i][c]);
    }
  }
  const auto factor = V::broadcast(alpha), old = V::broadcast(beta);
  for (int i = 0; i < M; ++i, C += ldc) {
    for (int c = 0; c < across; ++c) {
      auto sum = V::multiply(factor, sums[i][c]);
      if (beta != 0) sum = V::multiply_add(old, V::load(C + c * V::width), sum);
      V::store(C + c * V::width, sum);
    }
  }
}

// The same for a tile that is cut off by the edge of C or by its diagonal: row i has columns [0, min(n, i + reach)).
template <class V>
void tile_product_edge(Index depth, const typename V::Scalar* a, const typename V::Scalar* b, typename V::Scalar alpha,
                       typename V::Scalar beta, typename V::Scalar* C, Index ldc, Index m, Index n, Index reach) {
  using T = typename V::Scalar;
  constexpr Index N = tile_columns<V>;
  alignas(64) T tile[tile_rows<V> * N];
  const bool narrow = std::min(n, m - 1 + reach) <= V::width;
  (narrow ? tile_product<V, 1> : tile_product<V, 2>)(depth, a, b, alpha, T(0), tile, N);
  for (Index i = std::max<Index>(0, 1 - reach); i < m; ++i) {
    const Index end = std::min(n, i + reach);
    T* const c = C + i * ldc;
    if (beta == 0) {
      for (Index j = 0; j < end; ++j) c[j] = tile[i * N + j];
    } else {
      for (Index j = 0; j < end; ++j) c[j] = beta * c[j] + tile[i * N + j];
    }
  }
}

template <class V>
void matrix_product_loop(const ProductTask<typename V::Scalar>& t) {
  using T = typename V::Scalar;
  constexpr Index M = tile_rows<V>, N = tile_columns<V>;
  const auto whole = [](Index count, Index width) { return (count + width - 1) / width * width; };
  const Index depth_most = std::min(t.k, panel_depth<V>);
  T* const a = product_memory<V>(0, whole(std::min(t.m, rows_at_once<V>), M) * std::max<Index>(1, depth_most));
  T* const b = product_memory<V>(1, whole(std::min(t.n, columns_at_once), N) * std::max<Index>(1, depth_most));
  for (Index j0 = 0; j0 < t.n; j0 += columns_at_once) {
    const Index columns = std::min(columns_at_once, t.n - j0);
    Index k0 = 0;
    do {  // once for k = 0, which scales C
      const Index depth = std::min(panel_depth<V>, t.k - k0);
      const T beta = k0 == 0 ? t.beta : T(1);
      pack_panels<V, N>(t.B, t.ldb, !t.transpose_b, j0, columns, k0, depth, b);
      for (Index i0 = t.lower ? j0 / M * M : 0; i0 < t.m; i0 += rows_at_once<V>) {
        const Index rows = std::min(rows_at_once<V>, t.m - i0);
        pack_panels<V, M>(t.A, t.lda, t.transpose_a, i0, rows, k0, depth, a);
        for (Index j = 0; j < columns; j += N) {
          const Index width = std::min(N, columns - j);
          for (Index i = 0; i < rows; i += M) {
            const Index height = std::min(M, rows - i);
            const Index reach = t.lower ? i0 + i - j0 - j + 1 : width;  // columns of the tile's first row
            if (reach + height <= 1) continue;
            T* const C = t.C + (i0 + i) * t.ldc + j0 + j;
            if (height == M && width == N && reach >= N) {
              tile_product<V, 2>(depth, a + i * depth, b + j * depth, t.alpha, beta, C, t.ldc);
            } else {
              tile_product_edge<V>(depth, a + i * depth, b + j * depth, t.alpha, beta, C, t.ldc, height, width, reach);
            }
          }
        }
      }
      k0 += depth;
    } while (k0 < t.k);
  }
}

}  // namespace carmina::backend
