// backends/cuda/split_passes.cuh -- passes over float rows: phases on tensor cores, sine and cosine, and the product
// that follows, in registers.
#pragma once
#include "backends/cuda/split.cuh"

namespace carmina::cuda {

constexpr int warps = 8, lanes = 32, slice_rows = 1024;

// out (rows, P) = sum_j C_jc cos + C_js sin over all frequencies; coefficients (tiles of 16, 16, 2, P), zero where
// there is no frequency. A warp has N groups of 8 rows, whose halves stay in registers where there are few steps (S >
// 0).
template <int S, int N, int P>
__global__ void __launch_bounds__(warps* lanes, 2)
    split_forward(const uint4* __restrict__ rows, int row_groups, int count, const uint4* __restrict__ frequencies,
                  int tiles, int steps_given, const float* __restrict__ coefficients, float* __restrict__ out) {
  const int steps = S > 0 ? S : steps_given;
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
  const int first = (blockIdx.x * warps + warp) * N;
  constexpr int held = S > 0 ? S : 1;
  uint4 b[N][held];
  const uint4* from[N];
#pragma unroll
  for (int n = 0; n < N; ++n) {
    from[n] = rows + static_cast<size_t>(min(first + n, row_groups - 1)) * steps * lanes + lane;
    if constexpr (S > 0) {
#pragma unroll
      for (int s = 0; s < S; ++s) b[n][s] = from[n][s * lanes];
    }
  }
  float sums[N][2][P] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile % 8 == 0) __syncthreads();  // warps read the same frequencies at the same time
    const uint4* w = frequencies + static_cast<size_t>(2 * tile) * steps * lanes + lane;
    float c[N][4] = {};
    if constexpr (S > 0) {
#pragma unroll
      for (int s = 0; s < S; ++s) {
        const uint4 low = w[2 * s * lanes], high = w[(2 * s + 1) * lanes];
#pragma unroll
        for (int n = 0; n < N; ++n) multiply_add(c[n], low, high, b[n][s]);
      }
    } else {
      for (int s = 0; s < steps; ++s) {
        const uint4 low = w[2 * s * lanes], high = w[(2 * s + 1) * lanes];
#pragma unroll
        for (int n = 0; n < N; ++n) multiply_add(c[n], low, high, from[n][s * lanes]);
      }
    }
    const float* at = coefficients + static_cast<size_t>(tile) * 16 * 2 * P;
    float theta[2][2][P];  // of frequencies lane / 4 and 8 further; cosine, sine
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int k = 0; k < 2 * P; ++k) theta[h][k / P][k % P] = at[(lane / 4 + 8 * h) * 2 * P + k];
    }
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float cosine, sine;
        turn(c[n][i], cosine, sine);
#pragma unroll
        for (int a = 0; a < P; ++a) {
          sums[n][i % 2][a] = fmaf(theta[i / 2][0][a], cosine, sums[n][i % 2][a]);
          sums[n][i % 2][a] = fmaf(theta[i / 2][1][a], sine, sums[n][i % 2][a]);
        }
      }
    }
  }
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int a = 0; a < P; ++a) {
        float sum = sums[n][h][a];
        for (int step = 4; step < lanes; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
        const int row = (first + n) * group_rows + 2 * (lane % 4) + h;
        if (lane < 4 && row < count) out[static_cast<size_t>(row) * P + a] = sum;
      }
    }
  }
}

// partial (slices, 2 padded units, P) of a block: sums over a slice of R_i [cos, sin]; R (.., P), zero beyond the rows
// up to a multiple of 8. A warp has M tiles of 16 frequencies.
template <int S, int M, int P>
__global__ void __launch_bounds__(warps* lanes, 2)
    split_adjoint(const uint4* __restrict__ rows, int row_groups, const uint4* __restrict__ frequencies, int padded,
                  int steps_given, const float* __restrict__ R, float* __restrict__ partial) {
  constexpr int slice_groups = slice_rows / group_rows;
  const int steps = S > 0 ? S : steps_given;
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
  const int first_tile = (blockIdx.x * warps + warp) * M, first = blockIdx.y * slice_groups;
  const int last = min(first + slice_groups, row_groups);
  if (first_tile * 16 >= padded) return;
  const uint4* w = frequencies + static_cast<size_t>(2 * first_tile) * steps * lanes + lane;
  constexpr int held = S > 0 ? S : 1;
  uint4 a[M][held][2];
  constexpr int together = S > 0 ? 2 : 4;  // groups of rows
  uint4 next[together][held];
  const auto load = [&](int group) {
#pragma unroll
    for (int n = 0; n < together; ++n) {
      const uint4* from = rows + static_cast<size_t>(min(group + n, last - 1)) * held * lanes + lane;
#pragma unroll
      for (int s = 0; s < held; ++s) next[n][s] = from[s * lanes];
    }
  };
  if constexpr (S > 0) {
#pragma unroll
    for (int k = 0; k < 2 * M * S; ++k) a[k / (2 * S)][k / 2 % S][k % 2] = w[k * lanes];
    load(first);
  }
  float sums[M][2][2][P] = {};  // frequency lane / 4 or 8 further; cosine, sine
  for (int group = first; group < last; group += together) {
    float c[together][M][4] = {};
    if constexpr (S > 0) {
#pragma unroll
      for (int s = 0; s < S; ++s) {
#pragma unroll
        for (int k = 0; k < together * M; ++k) {
          multiply_add(c[k / M][k % M], a[k % M][s][0], a[k % M][s][1], next[k / M][s]);
        }
      }
      load(group + together);
    } else {
      for (int s = 0; s < steps; ++s) {
        uint4 b[together];
#pragma unroll
        for (int n = 0; n < together; ++n) {
          b[n] = rows[(static_cast<size_t>(min(group + n, last - 1)) * steps + s) * lanes + lane];
        }
#pragma unroll
        for (int m = 0; m < M; ++m) {
          const uint4 low = w[2 * (m * steps + s) * lanes], high = w[(2 * (m * steps + s) + 1) * lanes];
#pragma unroll
          for (int n = 0; n < together; ++n) multiply_add(c[n][m], low, high, b[n]);
        }
      }
    }
#pragma unroll
    for (int n = 0; n < together; ++n) {
      if (group + n >= last) break;
      float r[2][P];
      const float* of_row = R + (static_cast<size_t>(group + n) * group_rows + 2 * (lane % 4)) * P;
#pragma unroll
      for (int k = 0; k < 2 * P; ++k) r[k / P][k % P] = of_row[k];
#pragma unroll
      for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float cosine, sine;
          turn(c[n][m][i], cosine, sine);
#pragma unroll
          for (int q = 0; q < P; ++q) {
            sums[m][i / 2][0][q] = fmaf(r[i % 2][q], cosine, sums[m][i / 2][0][q]);
            sums[m][i / 2][1][q] = fmaf(r[i % 2][q], sine, sums[m][i / 2][1][q]);
          }
        }
      }
    }
  }
  float* const to = partial + static_cast<size_t>(blockIdx.y) * 2 * padded * P;
#pragma unroll
  for (int m = 0; m < M; ++m) {
#pragma unroll
    for (int k = 0; k < 4 * P; ++k) {
      float sum = sums[m][k / (2 * P)][k / P % 2][k % P];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      const int unit = (first_tile + m) * 16 + lane / 4 + 8 * (k / (2 * P));
      if (lane % 4 == 0) to[(static_cast<size_t>(k / P % 2) * padded + unit) * P + k % P] = sum;
    }
  }
}

}  // namespace carmina::cuda
