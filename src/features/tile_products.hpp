// features/tile_products.hpp -- sizes of tiles, scratch of workers, and products with a tile of features.
#pragma once
#include "backends/blas.hpp"
#include "backends/tiled.hpp"
#include "backends/vector_math.hpp"

#include <algorithm>
#include <vector>

namespace carmina {

constexpr Index tile_rows = 256;          // rows evaluated together
constexpr Index tile_bytes = 1 << 19;     // of features: half of a usual second-level cache
constexpr Index cached_bytes = 16 << 20;  // more than that is not in the caches when it is read
constexpr Index few_bytes = 1 << 18;      // of 128 rows of features, made by one thread
constexpr Index few_columns = 16;         // up to here products of few columns are faster

template <class M>
Index units_per_tile() {
  return tile_bytes / (tile_rows * M::parts * static_cast<Index>(sizeof(typename M::Scalar)));
}

// Scratch of each worker, made on its first task.
template <class T>
class Scratch {
 public:
  Scratch(int workers, Index size)
      : buffers_(static_cast<std::size_t>(workers)), size_(static_cast<std::size_t>(size)) {}
  T* operator[](int worker) {
    auto& buffer = buffers_[static_cast<std::size_t>(worker)];
    if (buffer.size() < size_) buffer.resize(size_);
    return buffer.data();
  }

 private:
  std::vector<std::vector<T>> buffers_;
  std::size_t size_;
};

// out (rows, p) += phi B for phi (rows, columns) and B given as Bᵀ (p, columns).
template <class T>
void add_product(const T* phi, Index ld, Index rows, Index columns, const T* Bt, Index ldb, Index p, T* out,
                 Index ldo) {
  using backend::Transpose;
  // Each entry is a sum along a row: a short row is over before its sum is worth it.
  if (p <= few_columns && columns >= 1024) {
    backend::add_product_few(phi, ld, rows, columns, Bt, ldb, p, out, ldo);
  } else {
    backend::gemm<T>(Transpose::no, Transpose::yes, rows, p, columns, T(1), phi, ld, Bt, ldb, T(1), out, ldo);
  }
}
// out (rows, count) = factor A Bᵀ for A (rows, d) and B (count, d). `each_alone`: every number is a sum along its own
// row, in an order that neighbours do not change.
template <class T>
void product_with_rows(bool each_alone, const T* A, Index lda, Index rows, Index d, const T* B, Index ldb, Index count,
                       T factor, T* out, Index ldo) {
  using backend::Transpose;
  if (!each_alone) {
    return backend::gemm<T>(Transpose::no, Transpose::yes, rows, count, d, factor, A, lda, B, ldb, T(0), out, ldo);
  }
  for (Index i = 0; i < rows; ++i) std::fill_n(out + i * ldo, count, T(0));
  backend::add_product_few(A, lda, rows, d, B, ldb, count, out, ldo);
  for (Index i = 0; i < rows && factor != T(1); ++i) {
    for (Index j = 0; j < count; ++j) out[i * ldo + j] *= factor;
  }
}
// out (p, columns) += Rᵀ phi
template <class T>
void add_transposed(const T* phi, Index ld, Index rows, Index columns, const T* R, Index ldr, Index p, T* out,
                    Index ldo) {
  using backend::Transpose;
  if (p <= few_columns) {
    backend::add_transposed_few(phi, ld, rows, columns, R, ldr, p, out, ldo);
  } else {
    backend::gemm<T>(Transpose::yes, Transpose::no, p, columns, rows, T(1), R, ldr, phi, ld, T(1), out, ldo);
  }
}

}  // namespace carmina
