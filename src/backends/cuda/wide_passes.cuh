// backends/cuda/wide_passes.cuh -- passes whose phases are made in double: of double data, and of float data with
// frequencies or inputs that products of halves cannot hold.
#pragma once
#include <cstdint>

namespace carmina::cuda {

constexpr int wide_tile = 64, wide_depth = 8;

template <class T>
__device__ inline void turn_of(double t, T& cosine, T& sine) {
  const double rest = t - rint(t);
  if constexpr (sizeof(T) == 8) {
    sincospi(2 * rest, &sine, &cosine);
  } else {
    const float angle = static_cast<float>(6.283185307179586 * rest);
    cosine = __cosf(angle), sine = __sinf(angle);
  }
}

// Phases (64, 64) of rows x (.., d) and frequencies w (.., d): 256 threads have 4 x 4, 16 apart. Rows and frequencies
// beyond their number are taken as zero.
template <class T>
__device__ inline void phase_tile(const T* x, int64_t rows, const double* w, int64_t units, int d, double (&c)[4][4]) {
  __shared__ double a[wide_depth][wide_tile + 1], b[wide_depth][wide_tile + 1];
  const int down = threadIdx.x / 16, across = threadIdx.x % 16;
  for (int i = 0; i < 16; ++i) c[i / 4][i % 4] = 0;
  for (int k = 0; k < d; k += wide_depth) {
    for (int i = threadIdx.x; i < wide_tile * wide_depth; i += 256) {
      const int row = i / wide_depth, entry = k + i % wide_depth;
      a[i % wide_depth][row] =
          entry < d && row < rows ? static_cast<double>(x[static_cast<int64_t>(row) * d + entry]) : 0;
      b[i % wide_depth][row] = entry < d && row < units ? w[static_cast<int64_t>(row) * d + entry] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < wide_depth; ++s) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) c[i][j] = fma(a[s][down + 16 * i], b[s][across + 16 * j], c[i][j]);
      }
    }
    __syncthreads();
  }
}

// out (rows, P) = phi C, coefficients (units padded to 64, 2, P). A block has 64 rows.
template <class T, int P>
__global__ void __launch_bounds__(256)
    wide_forward(const T* __restrict__ x, int64_t rows, const double* __restrict__ w, int64_t units, int d,
                 const T* __restrict__ coefficients, T* __restrict__ out) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * wide_tile;
  const int across = threadIdx.x % 16, down = threadIdx.x / 16;
  T sums[4][P] = {};
  for (int64_t unit = 0; unit < units; unit += wide_tile) {
    double c[4][4];
    phase_tile(x + first * d, rows - first, w + unit * d, units - unit, d, c);
    for (int j = 0; j < 4; ++j) {
      const T* theta = coefficients + (unit + across + 16 * j) * 2 * P;
      for (int i = 0; i < 4; ++i) {
        T cosine, sine;
        turn_of(c[i][j], cosine, sine);
#pragma unroll
        for (int q = 0; q < P; ++q) sums[i][q] += theta[q] * cosine + theta[P + q] * sine;
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int q = 0; q < P; ++q) {
      T sum = sums[i][q];
      for (int step = 1; step < 16; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
      const int64_t row = first + down + 16 * i;
      if (across == 0 && row < rows) out[row * P + q] = sum;
    }
  }
}

// partial (slices, 2 padded, P): sums over a slice of rows of R_i [cos, sin]; R (rows, P). A block has 64 frequencies.
template <class T, int P>
__global__ void __launch_bounds__(256)
    wide_adjoint(const T* __restrict__ x, int64_t rows, int slice, const double* __restrict__ w, int64_t units,
                 int64_t padded, int d, const T* __restrict__ R, T* __restrict__ partial) {
  const int64_t unit = static_cast<int64_t>(blockIdx.x) * wide_tile, begin = static_cast<int64_t>(blockIdx.y) * slice;
  const int64_t end = min(rows, begin + slice);
  const int across = threadIdx.x % 16, down = threadIdx.x / 16;
  T sums[4][2][P] = {};
  for (int64_t first = begin; first < end; first += wide_tile) {
    double c[4][4];
    phase_tile(x + first * d, end - first, w + unit * d, units - unit, d, c);
    for (int i = 0; i < 4; ++i) {
      const int64_t row = first + down + 16 * i;
      if (row >= end) continue;
      T r[P];
      for (int q = 0; q < P; ++q) r[q] = R[row * P + q];
      for (int j = 0; j < 4; ++j) {
        T cosine, sine;
        turn_of(c[i][j], cosine, sine);
#pragma unroll
        for (int q = 0; q < P; ++q) sums[j][0][q] += r[q] * cosine, sums[j][1][q] += r[q] * sine;
      }
    }
  }
  __shared__ T all[16][wide_tile];
  for (int k = 0; k < 2 * P; ++k) {
    for (int j = 0; j < 4; ++j) all[down][across + 16 * j] = sums[j][k / P][k % P];
    __syncthreads();
    if (threadIdx.x < wide_tile && unit + threadIdx.x < padded) {
      T sum = 0;
      for (int i = 0; i < 16; ++i) sum += all[i][threadIdx.x];
      partial[((static_cast<int64_t>(blockIdx.y) * 2 + k / P) * padded + unit + threadIdx.x) * P + k % P] = sum;
    }
    __syncthreads();
  }
}

}  // namespace carmina::cuda
