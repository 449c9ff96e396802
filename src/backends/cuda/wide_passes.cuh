// backends/cuda/wide_passes.cuh -- passes whose phases, or distances, are made in double: of double data, of kernels,
// and of float data with frequencies or inputs that products of halves cannot hold.
#pragma once
#include "backends/cuda/carmina_cuda.h"
#include "backends/cuda/passes.hpp"

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

// What a pair of a row and a frequency, or an anchor, adds up over the inputs.
enum class Pairs { products, squares, magnitudes };
inline Pairs pairs_of(const Profile& profile) {
  if (profile.kind == carmina_cuda_fourier) return Pairs::products;
  return profile.kind == carmina_cuda_laplacian ? Pairs::magnitudes : Pairs::squares;
}

template <class T>
__device__ inline T profile_value(const Profile& of, T r) {
  if (of.kind == carmina_cuda_gaussian) return exp(T(-0.5) * r);
  if (of.kind == carmina_cuda_laplacian) return exp(-r);
  if (of.kind == carmina_cuda_rational) return pow(1 + r / static_cast<T>(2 * of.shape), static_cast<T>(-of.shape));
  const T s = sqrt(static_cast<T>(2 * of.shape) * r), falling = exp(-s);
  return of.shape == 0.5 ? falling : of.shape == 1.5 ? (1 + s) * falling : (1 + s + s * s / 3) * falling;
}

// Two features of a pair, the second zero of a kernel.
template <Pairs pairs, class T>
__device__ inline void features_of(const Profile& profile, double sum, T& first, T& second) {
  if constexpr (pairs == Pairs::products) {
    turn_of(sum, first, second);
  } else {
    first = profile_value(profile, static_cast<T>(sum)), second = 0;
  }
}

// Phases, or distances, (64, 64) of rows x (.., d) and frequencies w (.., d): 256 threads have 4 x 4, 16 apart. Rows
// and frequencies beyond their number are taken as zero.
template <Pairs pairs, class T>
__device__ inline void pair_tile(const T* x, int64_t rows, const double* w, int64_t units, int d, double (&c)[4][4]) {
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
        for (int j = 0; j < 4; ++j) {
          const double x = a[s][down + 16 * i], y = b[s][across + 16 * j];
          if constexpr (pairs == Pairs::products) c[i][j] = fma(x, y, c[i][j]);
          if constexpr (pairs == Pairs::squares) c[i][j] = fma(x - y, x - y, c[i][j]);
          if constexpr (pairs == Pairs::magnitudes) c[i][j] += fabs(x - y);
        }
      }
    }
    __syncthreads();
  }
}

// out (rows, P) = phi C, coefficients (units padded to 64, 2, P). A block has 64 rows.
template <class T, int P, Pairs pairs>
__global__ void __launch_bounds__(256)
    wide_forward(Profile profile, const T* __restrict__ x, int64_t rows, const double* __restrict__ w, int64_t units,
                 int d, const T* __restrict__ coefficients, T* __restrict__ out) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * wide_tile;
  const int across = threadIdx.x % 16, down = threadIdx.x / 16;
  T sums[4][P] = {};
  for (int64_t unit = 0; unit < units; unit += wide_tile) {
    double c[4][4];
    pair_tile<pairs>(x + first * d, rows - first, w + unit * d, units - unit, d, c);
    for (int j = 0; j < 4; ++j) {
      const T* theta = coefficients + (unit + across + 16 * j) * 2 * P;
      for (int i = 0; i < 4; ++i) {
        T cosine, sine;
        features_of<pairs>(profile, c[i][j], cosine, sine);
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
template <class T, int P, Pairs pairs>
__global__ void __launch_bounds__(256)
    wide_adjoint(Profile profile, const T* __restrict__ x, int64_t rows, int slice, const double* __restrict__ w,
                 int64_t units, int64_t padded, int d, const T* __restrict__ R, T* __restrict__ partial) {
  const int64_t unit = static_cast<int64_t>(blockIdx.x) * wide_tile, begin = static_cast<int64_t>(blockIdx.y) * slice;
  const int64_t end = min(rows, begin + slice);
  const int across = threadIdx.x % 16, down = threadIdx.x / 16;
  T sums[4][2][P] = {};
  for (int64_t first = begin; first < end; first += wide_tile) {
    double c[4][4];
    pair_tile<pairs>(x + first * d, end - first, w + unit * d, units - unit, d, c);
    for (int i = 0; i < 4; ++i) {
      const int64_t row = first + down + 16 * i;
      if (row >= end) continue;
      T r[P];
      for (int q = 0; q < P; ++q) r[q] = R[row * P + q];
      for (int j = 0; j < 4; ++j) {
        T cosine, sine;
        features_of<pairs>(profile, c[i][j], cosine, sine);
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
