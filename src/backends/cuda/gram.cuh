// backends/cuda/gram.cuh -- the Gram matrix of some rows for a preconditioner: features as halves, products on tensor
// cores.
#pragma once
#include "backends/cuda/split.cuh"

#include <cuda_pipeline.h>

namespace carmina::cuda {

// Features times root_i of rows, transposed, as groups of 8 features by 32 rows: (2 padded units / 8, chunks, 32)
// lanes, cosines first. A warp makes a tile of 16 frequencies for 32 rows. roots: (32 chunks), zero where there is no
// row.
// `rest`: what the halves leave out, as halves too, or null.
template <bool both>
__global__ void __launch_bounds__(256)
    split_features(const uint4* __restrict__ rows, int row_groups, int chunks, const uint4* __restrict__ frequencies,
                   int padded, int steps, const float* __restrict__ roots, uint4* __restrict__ out,
                   uint4* __restrict__ rest) {
  const int lane = threadIdx.x % 32, warp = blockIdx.x * 8 + threadIdx.x / 32;
  const int chunk = warp % chunks, tile = warp / chunks;
  if (tile * 16 >= padded) return;
  const uint4* w = frequencies + static_cast<size_t>(2 * tile) * steps * 32 + lane;
  float c[4][4] = {};
  for (int s = 0; s < steps; ++s) {
    const uint4 low = w[2 * s * 32], high = w[(2 * s + 1) * 32];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int group = min(4 * chunk + n, row_groups - 1);
      multiply_add(c[n], low, high, rows[(static_cast<size_t>(group) * steps + s) * 32 + lane]);
    }
  }
  uint32_t words[2][2][4], rests[2][2][4];  // cosine, sine; frequency lane / 4 or 8 further; rows
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const float* root = roots + chunk * 32 + 8 * n + 2 * (lane % 4);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float f[2][2];
      turn(c[n][2 * h], f[0][0], f[1][0]);
      turn(c[n][2 * h + 1], f[0][1], f[1][1]);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const float first = root[0] * f[k][0], second = root[1] * f[k][1];
        words[k][h][n] = pair_of(first, second);
        if constexpr (both) {
          const float2 halves = __half22float2(reinterpret_cast<const __half2&>(words[k][h][n]));
          rests[k][h][n] = pair_of(first - halves.x, second - halves.y);
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int group = k / 2 * (padded / 8) + 2 * tile + k % 2;
    const size_t at = (static_cast<size_t>(group) * chunks + chunk) * 32 + lane;
    const uint32_t* four = words[k / 2][k % 2];
    out[at] = {four[0], four[1], four[2], four[3]};
    if constexpr (both) {
      four = rests[k / 2][k % 2];
      rest[at] = {four[0], four[1], four[2], four[3]};
    }
  }
}

// C (order, order) += F Fᵀ, tiles of 128 x 128 at and below the diagonal; F as above. `order` is a multiple of 128.
// Eight warps have 64 x 32 each; chunks of 32 rows are copied to shared memory three ahead. Tensor cores cut off what
// their sums cannot hold, always downwards, which over many rows would be more than a small alpha: after `gram_open`
// chunks their sums are added up outside.
constexpr int gram_tile = 128, gram_stages = 4, gram_open = 4;
// `both`: with what the halves left out (F', products F F', F' F), to 22 bits.
template <bool both, class Sum>
__global__ void __launch_bounds__(256, 1)
    add_gram(const uint4* __restrict__ F, const uint4* __restrict__ rest, int chunks, Sum* __restrict__ C, int order) {
  constexpr int parts = both ? 2 : 1, side = 512 * parts, stage = 2 * side;
  const int row = blockIdx.x, column = blockIdx.y;
  if (column > row) return;
  extern __shared__ uint4 shared[];  // (stages, 2, parts, 16, 32)
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int down = warp / 4, across = warp % 4;
  const auto load = [&](int chunk) {
    uint4* const to = shared + chunk % gram_stages * stage;
    for (int i = threadIdx.x; chunk < chunks && i < stage; i += 256) {
      const int group = i % 512 / 32 + 16 * (i < side ? row : column);
      const uint4* from = i % side < 512 ? F : rest;
      __pipeline_memcpy_async(to + i, from + (static_cast<size_t>(group) * chunks + chunk) * 32 + i % 32, 16);
    }
    __pipeline_commit();
  };
  float sums[4][4][4] = {}, c[4][4][4] = {};
  for (int k = 0; k < gram_stages - 1; ++k) load(k);
  for (int k = 0; k < chunks; ++k) {
    __pipeline_wait_prior(gram_stages - 2);
    __syncthreads();
    load(k + gram_stages - 1);
    const uint4* a = shared + k % gram_stages * stage + down * 8 * 32 + lane;
    const uint4* b = shared + k % gram_stages * stage + side + across * 4 * 32 + lane;
    uint4 right[parts][4];
#pragma unroll
    for (int j = 0; j < 4 * parts; ++j) right[j / 4][j % 4] = b[j / 4 * 512 + j % 4 * 32];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 low = a[2 * i * 32], high = a[(2 * i + 1) * 32];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if constexpr (both) multiply_add_groups(c[i][j], low, high, right[parts - 1][j]);
        multiply_add_groups(c[i][j], low, high, right[0][j]);
      }
      if constexpr (both) {
        const uint4 rest_low = a[512 + 2 * i * 32], rest_high = a[512 + (2 * i + 1) * 32];
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply_add_groups(c[i][j], rest_low, rest_high, right[0][j]);
      }
    }
    if (k % gram_open != gram_open - 1 && k + 1 < chunks) continue;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      float& open = c[i / 16][i / 4 % 4][i % 4];
      sums[i / 16][i / 4 % 4][i % 4] += open;
      open = 0;
    }
  }
  Sum* const to = C + static_cast<size_t>(row * gram_tile + down * 64 + lane / 4) * order + column * gram_tile +
                  across * 32 + 2 * (lane % 4);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        to[static_cast<size_t>(16 * i + 8 * (k / 2)) * order + 8 * j + k % 2] += sums[i][j][k];
      }
    }
  }
}

// g (features) += sums of features, of the same halves: H - g gᵀ / w is then positive semidefinite whatever rounding
// did. F has the roots of weights in it once, here they come again. A warp has a group of 8 features.
__global__ void __launch_bounds__(256)
    add_feature_sums(const uint4* __restrict__ F, int chunks, const float* __restrict__ roots, float* g) {
  const int lane = threadIdx.x % 32, group = blockIdx.x * 8 + threadIdx.x / 32;
  double sum = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const uint4 four = F[(static_cast<size_t>(group) * chunks + chunk) * 32 + lane];
    const uint32_t words[4] = {four.x, four.y, four.z, four.w};
    float some = 0;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const float2 two = __half22float2(reinterpret_cast<const __half2&>(words[n]));
      const float* root = roots + chunk * 32 + 8 * n + 2 * (lane % 4);
      some += root[0] * two.x + root[1] * two.y;
    }
    sum += some;
  }
  sum += __shfl_xor_sync(~0u, sum, 1);
  sum += __shfl_xor_sync(~0u, sum, 2);
  if (lane % 4 == 0) g[group * 8 + lane / 4] += static_cast<float>(sum);
}

// M = scale (H - g gᵀ / w) + alpha I in the place of H, and the identity beyond the features: those are columns
// [0, units) and [padded, padded + units) of `order`. g null: not centred.
__global__ void shift_gram(float* H, int order, int units, int padded, const float* g, float weight, float scale,
                           float alpha) {
  const int i = blockIdx.x, j = blockIdx.y * blockDim.x + threadIdx.x;
  if (j > i || j >= order) return;
  const bool real = i < 2 * padded && i % padded < units && j % padded < units;
  float* const at = H + static_cast<size_t>(i) * order + j;
  const float mean = g ? g[i] / weight * g[j] : 0;
  *at = real ? scale * (*at - mean) + (i == j ? alpha : 0) : (i == j ? 1 : 0);
}

}  // namespace carmina::cuda
