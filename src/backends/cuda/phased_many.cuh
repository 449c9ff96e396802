// backends/cuda/phased_many.cuh -- the passes for many columns of rows with many inputs: phases are one product of
// halves that is stored, since they serve all columns and both passes, and each takes more than the products that
// follow.
#pragma once
#include "backends/cuda/split_many.cuh"

#include <cuda_pipeline.h>

namespace carmina::cuda {

// out (rows, padded) = phases in turns; tiles of 128 x 128. Eight warps have 64 x 32 each; steps of 32 entries are
// copied to shared memory three ahead.
constexpr int phase_stages = 4;
static __global__ void __launch_bounds__(256, 2)
    split_phases(const uint4* __restrict__ rows, int row_groups, const uint4* __restrict__ frequencies, int padded,
                 int steps, float* __restrict__ out) {
  constexpr int side = 512, stage = 2 * side;
  extern __shared__ uint4 staged[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, down = warp / 4, across = warp % 4;
  const auto load = [&](int step) {
    uint4* const to = staged + step % phase_stages * stage;
    for (int i = threadIdx.x; step < steps && i < stage; i += 256) {
      const int group = i % side / 32 + 16 * (i < side ? blockIdx.x : blockIdx.y);
      const uint4* from = i < side ? rows : frequencies;
      const int held = i < side ? min(group, row_groups - 1) : group;
      __pipeline_memcpy_async(to + i, from + (static_cast<size_t>(held) * steps + step) * 32 + i % 32, 16);
    }
    __pipeline_commit();
  };
  float c[4][4][4] = {};
  for (int k = 0; k < phase_stages - 1; ++k) load(k);
  for (int k = 0; k < steps; ++k) {
    __pipeline_wait_prior(phase_stages - 2);
    __syncthreads();
    load(k + phase_stages - 1);
    const uint4* a = staged + k % phase_stages * stage + down * 8 * 32 + lane;
    const uint4* b = staged + k % phase_stages * stage + side + across * 4 * 32 + lane;
    uint4 right[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) right[j] = b[j * 32];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 low = a[2 * i * 32], high = a[(2 * i + 1) * 32];
#pragma unroll
      for (int j = 0; j < 4; ++j) multiply_add_groups(c[i][j], low, high, right[j]);
    }
  }
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    const int i = k / 8, j = k / 2 % 4, h = k % 2;
    const int row = blockIdx.x * 128 + down * 64 + 16 * i + lane / 4 + 8 * h;
    const int unit = blockIdx.y * 128 + across * 32 + 8 * j + 2 * (lane % 4);
    if (row < 8 * row_groups) {
      *reinterpret_cast<float2*>(out + static_cast<size_t>(row) * padded + unit) = {c[i][j][2 * h], c[i][j][2 * h + 1]};
    }
  }
}

// As split_forward_many, of phases (rows, padded).
template <int H>
__global__ void __launch_bounds__(256, H == 2 ? 2 : 1)
    phased_forward_many(const float* __restrict__ phases, int padded, int row_groups, int count, int unit_groups,
                        const uint4* __restrict__ coefficients, float* __restrict__ out) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = (blockIdx.x * 8 + warp) * 4;
  const float* from[2][2];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int row = min(8 * first + 16 * (k / 2) + 8 * (k % 2) + lane / 4, 8 * row_groups - 1);
    from[k / 2][k % 2] = phases + static_cast<size_t>(row) * padded + 2 * (lane % 4);
  }
  constexpr int together = 4;  // groups of frequencies, of which there are a multiple with the padding
  float sums[2][H][4] = {}, open[2][H][4] = {};
  for (int group = 0; group < unit_groups; group += together) {
    if (group % 8 == 0) __syncthreads();
    float2 c[together][2][2];
#pragma unroll
    for (int k = 0; k < 4 * together; ++k) {
      c[k / 4][k / 2 % 2][k % 2] =
          __ldcs(reinterpret_cast<const float2*>(from[k / 2 % 2][k % 2] + 8 * (group + k / 4)));
    }
#pragma unroll
    for (int n = 0; n < together; ++n) {
      if (group + n >= unit_groups) break;
      const uint4* theta = coefficients + static_cast<size_t>(group + n) * 2 * H * 32 + lane;
      float cosine[2][4], sine[2][4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        turn(c[n][k / 2][k % 2].x, cosine[k / 2][2 * (k % 2)], sine[k / 2][2 * (k % 2)]);
        turn(c[n][k / 2][k % 2].y, cosine[k / 2][2 * (k % 2) + 1], sine[k / 2][2 * (k % 2) + 1]);
      }
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

// As split_adjoint_many, of phases.
template <int H>
__global__ void __launch_bounds__(256, H == 2 ? 2 : 1)
    phased_adjoint_many(const float* __restrict__ phases, int padded, int row_groups, const float* __restrict__ R,
                        float* __restrict__ partial) {
  constexpr int slice_groups = 128, together = 4;  // groups of rows
  const int lane = threadIdx.x % 32, tile = blockIdx.x * 8 + threadIdx.x / 32;
  const int first = blockIdx.y * slice_groups, last = min(first + slice_groups, row_groups);
  if (tile * 16 >= padded) return;
  const float* const from = phases + tile * 16 + lane / 4;
  float sums[2][H][4] = {}, open[2][H][4] = {};  // cosine and sine, eights of the columns
  for (int group = first; group < last; group += together) {
    float c[together][4];
#pragma unroll
    for (int k = 0; k < 4 * together; ++k) {
      const int row = min(group + k / 4, last - 1) * 8 + 2 * (lane % 4) + k % 2;
      c[k / 4][k % 4] = __ldcs(from + static_cast<size_t>(row) * padded + 8 * (k % 4 / 2));
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
    if (group / together % 2 == 0 && group + together < last) continue;
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
