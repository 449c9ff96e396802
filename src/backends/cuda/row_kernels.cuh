// backends/cuda/row_kernels.cuh -- what is done to rows and sums around the passes: packing, right-hand sides, ordered
// sums.
#pragma once
#include "backends/cuda/rows.hpp"
#include "backends/cuda/split.cuh"

#include <cfloat>
#include <cstdint>

namespace carmina::cuda {

constexpr int threads = 256;
inline unsigned blocks_for(int64_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

// Rows x (count, inputs) times scale_k as groups of halves; rows beyond are zero. `large` is set where |x scale| is
// above `limit` (or not a number).
template <class T>
__global__ void pack_rows(const T* __restrict__ x, int64_t count, int inputs, int steps,
                          const float* __restrict__ scale, int64_t groups, float limit, int* large,
                          uint4* __restrict__ out) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= groups * steps * 32) return;
  const int lane = static_cast<int>(at % 32), step = static_cast<int>(at / 32 % steps);
  const int64_t row = at / 32 / steps * group_rows + lane / 4;
  out[at] = split_lane<Side::rows>(lane, step, inputs, [&](int k) {
    if (row >= count) return 0.0f;
    const float scaled = static_cast<float>(static_cast<double>(x[row * inputs + k]) * scale[k]);
    if (!(fabsf(scaled) <= limit)) *large = 1;
    return scaled;
  });
}

// out (count, d) = what becomes of inputs x, row stride in numbers, as carmina_cuda_transform says.
template <class T>
__global__ void place_inputs(Placing by, const T* __restrict__ x, int64_t stride, int64_t count, int d, T* out) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= count * d) return;
  const T* const row = x + at / d * stride;
  const auto moved = [&](int k) {
    double value = row[k];
    if (by.fill && isnan(value)) value = by.fill[k];
    if (by.shift) value = (value - by.shift[k]) * by.factor[k];
    return value > by.limit ? by.limit : value < -by.limit ? -by.limit : value;
  };
  const int j = static_cast<int>(at % d);
  double sum = 0;
  for (int k = 0; by.metric && k < d; ++k) sum += by.metric[j * d + k] * moved(k);
  out[at] = static_cast<T>(by.metric ? sum : moved(j));
}

// Frequencies times scale_k as tiles of 16: (tiles, steps, 2, 32) lanes.
static __global__ void pack_frequencies(const double* __restrict__ w, int64_t count, int inputs, int steps,
                                        const float* __restrict__ scale, int64_t tiles, uint4* __restrict__ out) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= tiles * steps * 2 * 32) return;
  const int lane = static_cast<int>(at % 32), half = static_cast<int>(at / 32 % 2);
  const int step = static_cast<int>(at / 64 % steps);
  const auto group = [&](int64_t row) {
    return split_lane<Side::frequencies>(lane, step, inputs, [&](int k) {
      return row < count ? static_cast<float>(w[row * inputs + k] * scale[k]) : 0.0f;
    });
  };
  const int64_t row = at / 64 / steps * 16 + lane / 4;
  const uint4 low = group(row), high = group(row + 8);
  out[at] = half == 0 ? uint4{low.x, high.x, low.y, high.y} : uint4{low.z, high.z, low.w, high.w};
}

// The same in groups of 8: (groups, steps, 32) lanes.
static __global__ void group_frequencies(const double* __restrict__ w, int64_t count, int inputs, int steps,
                                         const float* __restrict__ scale, int64_t groups, uint4* __restrict__ out) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= groups * steps * 32) return;
  const int lane = static_cast<int>(at % 32), step = static_cast<int>(at / 32 % steps);
  const int64_t row = at / 32 / steps * group_rows + lane / 4;
  out[at] = split_lane<Side::frequencies>(lane, step, inputs, [&](int k) {
    return row < count ? static_cast<float>(w[row * inputs + k] * scale[k]) : 0.0f;
  });
}

// R_ic of columns [first, first + P) of what a sum takes, in double: of the targets, or as given; zero from column q
// on.
struct Right {
  const double* given;  // (rows, q), or null: of the targets
  const double* origin;
  int q, outputs;
  bool missing;
};
template <class T>
__device__ inline double right_value(const Right& right, const T* targets, const T* weights, int64_t row, int c) {
  if (c >= right.q) return 0;
  if (right.given) return right.given[row * right.q + c];
  const double w = weights[row];
  const int p = right.outputs;
  if (c == p) return w;
  const double y = targets[row * p + (c < p ? c : c - p - 1)];
  if (right.missing && isnan(y)) return 0;
  return c < p ? w * (y - right.origin[c]) : w;
}
template <class T, int P>
__global__ void fill_right(Right right, int first, const T* targets, const T* weights, int64_t count, int64_t padded,
                           T* R) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= padded * P) return;
  const int64_t row = at / P;
  R[at] =
      row < count ? static_cast<T>(right_value(right, targets, weights, row, first + static_cast<int>(at % P))) : T(0);
}

// R_ic = w_i F_ic, and 0 where output c has no target; zero beyond the rows.
template <class T, int P>
__global__ void weigh(T* F, int first, const T* targets, const T* weights, int outputs, bool missing, int64_t count,
                      int64_t padded) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= padded * P) return;
  const int64_t row = at / P;
  if (row >= count) {
    F[at] = 0;
  } else {
    const int64_t column = first + at % P;
    const bool lacks = missing && column < outputs && isnan(targets[row * outputs + column]);
    F[at] = lacks ? T(0) : F[at] * weights[row];
  }
}

// partial (slices, P): sums of the R of a slice. A block for each slice.
template <class T, int P>
__global__ void sum_right(Right right, int first, const T* targets, const T* weights, int64_t count, int slice,
                          double* partial) {
  __shared__ double all[threads];
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * slice, end = min(count, begin + slice);
  for (int c = 0; c < P; ++c) {
    double sum = 0;
    for (int64_t row = begin + threadIdx.x; row < end; row += threads) {
      sum += right_value(right, targets, weights, row, first + c);
    }
    all[threadIdx.x] = sum;
    __syncthreads();
    for (int step = threads / 2; step > 0; step /= 2) {
      if (threadIdx.x < step) all[threadIdx.x] += all[threadIdx.x + step];
      __syncthreads();
    }
    if (threadIdx.x == 0) partial[static_cast<int64_t>(blockIdx.x) * P + c] = all[0];
    __syncthreads();
  }
}

// total (length) += partial (slices, length), one slice after the other.
template <class T>
__global__ void add_slices(const T* __restrict__ partial, int64_t slices, int64_t length, double* total) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= length) return;
  double sum = total[at];
  int64_t k = 0;
  for (; k + 8 <= slices; k += 8) {
    T next[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) next[i] = partial[(k + i) * length + at];
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += static_cast<double>(next[i]);
  }
  for (; k < slices; ++k) sum += static_cast<double>(partial[k * length + at]);
  total[at] = sum;
}

// out (rows, q) in double, columns [first, first + P), of F (rows, P).
template <class T, int P>
__global__ void widen(const T* F, int64_t count, int q, int first, double* out) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at < count * P && first + at % P < q) out[at / P * q + first + at % P] = static_cast<double>(F[at]);
}

// Square roots of scaled weights (null: all one); zero beyond the rows.
template <class T, class Root>
__global__ void roots_of(const T* weights, double scale, int64_t count, int64_t padded, Root* roots) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= padded) return;
  roots[at] =
      at < count ? static_cast<Root>(sqrt(scale * (weights ? static_cast<double>(weights[at]) : 1.0))) : Root(0);
}

// Rows by their numbers among packed ones, packed again, with the roots of their weights; zero beyond `count`.
static __global__ void gather_rows(const uint4* __restrict__ rows, const float* __restrict__ weights,
                                   const int64_t* __restrict__ numbers, int64_t count, int steps, int64_t groups,
                                   uint4* __restrict__ out, float* __restrict__ roots) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= groups * steps * 32) return;
  const int lane = static_cast<int>(at % 32), step = static_cast<int>(at / 32 % steps);
  const int64_t place = at / 32 / steps * group_rows + lane / 4;
  const int64_t row = place < count ? numbers[place] : -1;
  out[at] = row < 0 ? uint4{0, 0, 0, 0} : rows[(row / 8 * steps + step) * 32 + row % 8 * 4 + lane % 4];
  if (step == 0 && lane % 4 == 0) roots[place] = row < 0 ? 0.0f : sqrtf(weights[row]);
}

}  // namespace carmina::cuda
