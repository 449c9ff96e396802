// backends/cuda/split_many.cuh -- the passes for 16 or 64 columns at once: the product with them on tensor cores too.
//
// A feature f = h + l with h of 11 bits (tf32 reads no more), and likewise a coefficient: h h + l h + h l. Tensor cores
// cut off what their sums cannot hold, so sums of few products are added up in float outside.
#pragma once
#include "backends/cuda/split.cuh"

namespace carmina::cuda {

struct Parts {
  uint32_t high, low;
};
__device__ inline Parts parts_of(float x) {
  const uint32_t high = __float_as_uint(x) & 0xffffe000u;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

// c (16, 8) += a (16, 8) b (8, 8), to 22 bits. a: vectors g, g + 8 of entries 2t, then of 2t + 1; b: entries 2t, 2t + 1
// of column g.
__device__ inline void multiply_add_tf32(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Features of a tile: (vector g, entries 2t, 2t + 1), (g + 8, the same).
__device__ inline void add_product(float (&c)[4], const float (&features)[4], const uint4& b) {
  uint32_t high[4], low[4];
  constexpr int place[4] = {0, 2, 1, 3};  // c0 c1 c2 c3 of a product as a0 a2 a1 a3 of the next
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Parts both = parts_of(features[i]);
    high[place[i]] = both.high, low[place[i]] = both.low;
  }
  multiply_add_tf32(c, low, b.x, b.y);
  multiply_add_tf32(c, high, b.z, b.w);
  multiply_add_tf32(c, high, b.x, b.y);
}

// out (rows, 8 H) = phi C. A warp has two tiles of 16 rows; frequencies in groups of 8 like rows; coefficients
// (groups, cosine and sine, H eights of the columns, 32 lanes): high parts of units 2t, 2t + 1 in column g, low parts.
template <int S, int H>
__global__ void __launch_bounds__(256, H == 2 ? 2 : 1)
    split_forward_many(const uint4* __restrict__ rows, int row_groups, int count, const uint4* __restrict__ frequencies,
                       int unit_groups, int steps_given, const uint4* __restrict__ coefficients,
                       float* __restrict__ out) {
  const int steps = S > 0 ? S : steps_given;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = (blockIdx.x * 8 + warp) * 4;
  constexpr int held = S > 0 ? S : 1;
  uint4 a[2][held][2];
  const auto tile_of_rows = [&](int m, int s, uint4& low, uint4& high) {
    const uint4 g0 = rows[(static_cast<size_t>(min(first + 2 * m, row_groups - 1)) * steps + s) * 32 + lane];
    const uint4 g1 = rows[(static_cast<size_t>(min(first + 2 * m + 1, row_groups - 1)) * steps + s) * 32 + lane];
    low = {g0.x, g1.x, g0.y, g1.y}, high = {g0.z, g1.z, g0.w, g1.w};
  };
  if constexpr (S > 0) {
#pragma unroll
    for (int k = 0; k < 2 * S; ++k) tile_of_rows(k / S, k % S, a[k / S][k % S][0], a[k / S][k % S][1]);
  }
  constexpr int together = S > 0 ? 1 : 4;        // groups of frequencies
  float sums[2][H][4] = {}, open[2][H][4] = {};  // tiles of rows, eights of the columns
  for (int group = 0; group < unit_groups; group += together) {
    if (group % 8 == 0) __syncthreads();
    float c[together][2][4] = {};
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      uint4 b[together];
#pragma unroll
      for (int n = 0; n < together; ++n) {
        b[n] = frequencies[(static_cast<size_t>(min(group + n, unit_groups - 1)) * steps + s) * 32 + lane];
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        uint4 low, high;
        if constexpr (S > 0) {
          low = a[m][s][0], high = a[m][s][1];
        } else {
          tile_of_rows(m, s, low, high);
        }
#pragma unroll
        for (int n = 0; n < together; ++n) multiply_add(c[n][m], low, high, b[n]);
      }
    }
#pragma unroll
    for (int n = 0; n < together; ++n) {
      if (group + n >= unit_groups) break;
      const uint4* theta = coefficients + static_cast<size_t>(group + n) * 2 * H * 32 + lane;
      float cosine[2][4], sine[2][4];
#pragma unroll
      for (int k = 0; k < 8; ++k) turn(c[n][k / 4][k % 4], cosine[k / 4][k % 4], sine[k / 4][k % 4]);
#pragma unroll
      for (int h = 0; h < H; ++h) {
        const uint4 of_cosines = theta[h * 32], of_sines = theta[(H + h) * 32];
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          add_product(open[m][h], cosine[m], of_cosines);
          add_product(open[m][h], sine[m], of_sines);
        }
      }
    }
    if (together == 1 && group % 4 != 3 && group + 1 < unit_groups) continue;
#pragma unroll
    for (int k = 0; k < 8 * H; ++k) {
      sums[k / (4 * H)][k / 4 % H][k % 4] += open[k / (4 * H)][k / 4 % H][k % 4];
      open[k / (4 * H)][k / 4 % H][k % 4] = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < 8 * H; ++k) {
    const int row = first * 8 + 16 * (k / (4 * H)) + lane / 4 + 8 * (k % 4 / 2);
    const int column = 8 * (k / 4 % H) + 2 * (lane % 4) + k % 2;
    if (row < count) out[static_cast<size_t>(row) * 8 * H + column] = sums[k / (4 * H)][k / 4 % H][k % 4];
  }
}

// partial (slices, 2 padded, 8 H); a warp has a tile of 16 frequencies.
template <int S, int H>
__global__ void __launch_bounds__(256, H == 2 ? 2 : 1)
    split_adjoint_many(const uint4* __restrict__ rows, int row_groups, const uint4* __restrict__ frequencies,
                       int padded, int steps_given, const float* __restrict__ R, float* __restrict__ partial) {
  constexpr int slice_groups = 128;
  const int steps = S > 0 ? S : steps_given;
  const int lane = threadIdx.x % 32, tile = blockIdx.x * 8 + threadIdx.x / 32;
  const int first = blockIdx.y * slice_groups, last = min(first + slice_groups, row_groups);
  if (tile * 16 >= padded) return;
  const uint4* w = frequencies + static_cast<size_t>(2 * tile) * steps * 32 + lane;
  constexpr int held = S > 0 ? S : 1;
  uint4 a[held][2];
  if constexpr (S > 0) {
#pragma unroll
    for (int k = 0; k < 2 * S; ++k) a[k / 2][k % 2] = w[k * 32];
  }
  constexpr int together = S > 0 ? 2 : 4;        // groups of rows
  float sums[2][H][4] = {}, open[2][H][4] = {};  // cosine and sine, eights of the columns
  for (int group = first; group < last; group += together) {
    float c[together][4] = {};
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      uint4 low, high;
      if constexpr (S > 0) {
        low = a[s][0], high = a[s][1];
      } else {
        low = w[2 * s * 32], high = w[(2 * s + 1) * 32];
      }
#pragma unroll
      for (int n = 0; n < together; ++n) {
        const uint4 b = rows[(static_cast<size_t>(min(group + n, last - 1)) * steps + s) * 32 + lane];
        multiply_add(c[n], low, high, b);
      }
    }
#pragma unroll
    for (int n = 0; n < together; ++n) {
      if (group + n >= last) break;
      float cosine[4], sine[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) turn(c[n][k], cosine[k], sine[k]);
      const float* r = R + (static_cast<size_t>(group + n) * 8 + 2 * (lane % 4)) * 8 * H + lane / 4;
#pragma unroll
      for (int h = 0; h < H; ++h) {
        const Parts b0 = parts_of(r[8 * h]), b1 = parts_of(r[8 * H + 8 * h]);
        const uint4 b = {b0.high, b1.high, b0.low, b1.low};
        add_product(open[0][h], cosine, b);
        add_product(open[1][h], sine, b);
      }
    }
    if (group / together % (8 / together) != 8 / together - 1 && group + together < last) continue;
#pragma unroll
    for (int k = 0; k < 8 * H; ++k) {
      sums[k / (4 * H)][k / 4 % H][k % 4] += open[k / (4 * H)][k / 4 % H][k % 4];
      open[k / (4 * H)][k / 4 % H][k % 4] = 0;
    }
  }
  float* const to = partial + static_cast<size_t>(blockIdx.y) * 2 * padded * 8 * H;
#pragma unroll
  for (int k = 0; k < 8 * H; ++k) {
    const int unit = tile * 16 + lane / 4 + 8 * (k % 4 / 2), column = 8 * (k / 4 % H) + 2 * (lane % 4) + k % 2;
    to[(static_cast<size_t>(k / (4 * H)) * padded + unit) * 8 * H + column] = sums[k / (4 * H)][k / 4 % H][k % 4];
  }
}

}  // namespace carmina::cuda
