// backends/cuda/wide_gram.cuh -- Gram matrices to double: features in double, products on tensor cores of doubles.
#pragma once
#include "backends/cuda/wide_passes.cuh"

#include <cuda_pipeline.h>

namespace carmina::cuda {

// Features times root_i of rows, transposed, as the registers of mma.m8n8k4 want them: groups of 8 features by 4 rows
// are 32 numbers, (2 padded units / 8, chunks of 4 rows, 32), cosines first. A block has 64 rows and 64 frequencies;
// roots: (4 chunks), zero where there is no row.
template <class T>
__global__ void __launch_bounds__(256)
    wide_features(const T* __restrict__ x, int64_t rows, const double* __restrict__ w, int64_t units, int64_t padded,
                  int d, const double* __restrict__ roots, int chunks, double* __restrict__ out) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * wide_tile,
                unit = static_cast<int64_t>(blockIdx.y) * wide_tile;
  const int across = threadIdx.x % 16, down = threadIdx.x / 16;
  double c[4][4];
  pair_tile<Pairs::products>(x + first * d, rows - first, w + unit * d, units - unit, d, c);
  for (int i = 0; i < 4; ++i) {
    const int64_t row = first + down + 16 * i;
    const double root = roots[row];
    for (int j = 0; j < 4; ++j) {
      const int64_t feature = unit + across + 16 * j;
      double cosine, sine;
      turn_of<double>(c[i][j], cosine, sine);
      const int64_t lane = feature % 8 * 4 + row % 4;
      out[(feature / 8 * chunks + row / 4) * 32 + lane] = root * cosine;
      out[((padded + feature) / 8 * chunks + row / 4) * 32 + lane] = root * sine;
    }
  }
}

// c (8, 8) += a (8, 4) b (8, 4)ᵀ: lane l has a[l / 4][l % 4], and c[l / 4][2 (l % 4) + {0, 1}].
__device__ inline void multiply_add_double(double (&c)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
}

// C (order, order) += F Fᵀ, tiles of 128 x 128 at and below the diagonal, `order` a multiple of 128, chunks one of 4.
// Eight warps have 64 x 32 each; 16 rows are copied to shared memory three ahead. A sum goes on from what C holds, row
// after row: it does not depend on how many come at once.
constexpr int wide_gram_stages = 4;
static __global__ void __launch_bounds__(256, 1)
    add_wide_tiles(const double* __restrict__ F, int chunks, double* __restrict__ C, int order) {
  constexpr int side = 16 * 4 * 32, stage = 2 * side;  // numbers
  const int row = blockIdx.x, column = blockIdx.y, steps = chunks / 4;
  if (column > row) return;
  extern __shared__ double held[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, down = warp / 4, across = warp % 4;
  const auto load = [&](int step) {
    double* const to = held + step % wide_gram_stages * stage;
    for (int i = 2 * threadIdx.x; step < steps && i < stage; i += 2 * 256) {
      const int group = i % side / 128 + 16 * (i < side ? row : column);
      __pipeline_memcpy_async(to + i, F + (static_cast<size_t>(group) * chunks + 4 * step) * 32 + i % 128, 16);
    }
    __pipeline_commit();
  };
  double c[8][4][2];
  double* const to =
      C + (static_cast<size_t>(row) * 128 + down * 64 + lane / 4) * order + column * 128 + across * 32 + 2 * (lane % 4);
#pragma unroll
  for (int k = 0; k < 64; ++k)
    c[k / 8][k / 2 % 4][k % 2] = to[static_cast<size_t>(k / 8 * 8) * order + k / 2 % 4 * 8 + k % 2];
  for (int k = 0; k < wide_gram_stages - 1; ++k) load(k);
  for (int k = 0; k < steps; ++k) {
    __pipeline_wait_prior(wide_gram_stages - 2);
    __syncthreads();
    load(k + wide_gram_stages - 1);
    const double* a = held + k % wide_gram_stages * stage + down * 8 * 128 + lane;
    const double* b = held + k % wide_gram_stages * stage + side + across * 4 * 128 + lane;
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      double left[8], right[4];
#pragma unroll
      for (int i = 0; i < 8; ++i) left[i] = a[i * 128 + s * 32];
#pragma unroll
      for (int j = 0; j < 4; ++j) right[j] = b[j * 128 + s * 32];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply_add_double(c[i][j], left[i], right[j]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 64; ++k)
    to[static_cast<size_t>(k / 8 * 8) * order + k / 2 % 4 * 8 + k % 2] = c[k / 8][k / 2 % 4][k % 2];
}

}  // namespace carmina::cuda
