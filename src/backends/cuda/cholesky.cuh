// backends/cuda/cholesky.cuh -- Cholesky factor of a matrix, and its triangular systems, by blocks: of 128 in float, of
// 64 in double.
#pragma once
#include <type_traits>

namespace carmina::cuda {

template <class T>
constexpr int order_of_blocks = std::is_same_v<T, double> ? 64 : 128;
constexpr int block_order = order_of_blocks<float>;

// The factor L of a diagonal block of A, in its place (lower triangle), and its inverse (n, n), zero above the
// diagonal. `failed` is set where A is not positive definite. One block of 512 threads.
template <class T>
__global__ void __launch_bounds__(512) factor_diagonal(T* A, int order, int first, T* inverse, int* failed) {
  constexpr int n = order_of_blocks<T>, ld = n + 1;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  T* const L = reinterpret_cast<T*>(shared_bytes);  // (n, ld), then a copy for the inverse
  T* const V = L + n * ld;
  T* const block = A + static_cast<size_t>(first) * order + first;
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) {
    L[k / n * ld + k % n] = k % n <= k / n ? block[static_cast<size_t>(k / n) * order + k % n] : 0;
    V[k / n * ld + k % n] = k / n == k % n ? T(1) : T(0);
  }
  __syncthreads();
  // Column after column; rows of V take the same steps: V = L⁻¹ at the end.
  for (int j = 0; j < n; ++j) {
    const T pivot = L[j * ld + j];
    if (!(pivot > 0) || isinf(pivot)) {
      if (threadIdx.x == 0) *failed = 1;
      return;
    }
    const T root = sqrt(pivot);
    __syncthreads();
    for (int k = threadIdx.x; k < 2 * n; k += blockDim.x) {
      if (k < n) {
        if (k >= j) L[k * ld + j] = k == j ? root : L[k * ld + j] / root;
      } else if (k - n <= j) {
        V[j * ld + k - n] /= root;
      }
    }
    __syncthreads();
    const int below = n - 1 - j;
    for (int k = threadIdx.x; k < below * n; k += blockDim.x) {
      const int i = j + 1 + k / n, c = k % n;
      const T factor = L[i * ld + j];
      if (c > j && c <= i) L[i * ld + c] -= factor * L[c * ld + j];
      if (c <= j) V[i * ld + c] -= factor * V[j * ld + c];
    }
    __syncthreads();
  }
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) {
    if (k % n <= k / n) block[static_cast<size_t>(k / n) * order + k % n] = L[k / n * ld + k % n];
    inverse[k] = V[k / n * ld + k % n];
  }
}

// A tile (n, n) of X Yᵀ over n columns; 256 threads have n / 16 x n / 16 each, rows and columns 16 apart.
template <class T>
constexpr int each = order_of_blocks<T> / 16;
template <class T>
__device__ inline void tile_product(const T* X, const T* Y, int ldx, int ldy, T (&c)[each<T>][each<T>]) {
  constexpr int n = order_of_blocks<T>, depth = 16, most = each<T>;
  __shared__ T x[depth][n + 1], y[depth][n + 1];
  const int down = threadIdx.x / 16, across = threadIdx.x % 16;
  for (int k = 0; k < n; k += depth) {
    for (int i = threadIdx.x; i < n * depth; i += 256) {
      x[i % depth][i / depth] = X[static_cast<size_t>(i / depth) * ldx + k + i % depth];
      y[i % depth][i / depth] = Y[static_cast<size_t>(i / depth) * ldy + k + i % depth];
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < depth; ++s) {
      T a[most], b[most];
#pragma unroll
      for (int i = 0; i < most; ++i) a[i] = x[s][down + 16 * i], b[i] = y[s][across + 16 * i];
#pragma unroll
      for (int i = 0; i < most; ++i) {
#pragma unroll
        for (int j = 0; j < most; ++j) c[i][j] = fma(a[i], b[j], c[i][j]);
      }
    }
    __syncthreads();
  }
}

// Blocks below the diagonal block: A_i1 = A_i1 L11⁻ᵀ.
template <class T>
__global__ void __launch_bounds__(256) solve_panel(T* A, int order, int first, const T* inverse) {
  constexpr int n = order_of_blocks<T>, most = each<T>;
  T c[most][most] = {};
  T* const at = A + (static_cast<size_t>(first) + (blockIdx.x + 1) * n) * order + first;
  tile_product(at, inverse, order, n, c);
  for (int i = 0; i < most; ++i) {
    for (int j = 0; j < most; ++j) {
      at[static_cast<size_t>(threadIdx.x / 16 + 16 * i) * order + threadIdx.x % 16 + 16 * j] = c[i][j];
    }
  }
}

// A_ij -= L_i1 L_j1ᵀ for the blocks i >= j beyond.
template <class T>
__global__ void __launch_bounds__(256) update_rest(T* A, int order, int first) {
  constexpr int n = order_of_blocks<T>, most = each<T>;
  if (blockIdx.y > blockIdx.x) return;
  T c[most][most] = {};
  T* const panel = A + static_cast<size_t>(first + n) * order + first;
  tile_product(panel + static_cast<size_t>(blockIdx.x) * n * order, panel + static_cast<size_t>(blockIdx.y) * n * order,
               order, order, c);
  T* const at = panel + n + static_cast<size_t>(blockIdx.x) * n * order + blockIdx.y * n;
  for (int i = 0; i < most; ++i) {
    for (int j = 0; j < most; ++j) {
      at[static_cast<size_t>(threadIdx.x / 16 + 16 * i) * order + threadIdx.x % 16 + 16 * j] -= c[i][j];
    }
  }
}

// x (columns, 128) = V r or Vᵀ r of some columns in shared memory, by 128 threads; the columns of r are `apart`.
constexpr int solved_columns = 8;
__device__ inline void block_solution(const float* V, const float* r, size_t apart, int columns, bool transposed,
                                      float (*x)[block_order]) {
  constexpr int n = block_order;
  __shared__ float right[solved_columns][n];
  const int i = threadIdx.x;
  for (int c = 0; c < columns; ++c) right[c][i] = r[c * apart + i];
  __syncthreads();
  float sums[solved_columns] = {};
  const int begin = transposed ? i : 0, end = transposed ? n : i + 1;
  for (int k = begin; k < end; ++k) {
    const float entry = transposed ? V[k * n + i] : V[i * n + k];
#pragma unroll
    for (int c = 0; c < solved_columns; ++c) sums[c] = fmaf(entry, right[c][k], sums[c]);
  }
  for (int c = 0; c < columns; ++c) x[c][i] = sums[c];
  __syncthreads();
}

// One step of L y = r for columns of R (q, order): block x = 0 writes the solution of the diagonal block, the others
// take it from the rows beyond. Blocks (1 + blocks beyond, columns by eights) of 128 threads.
__global__ void __launch_bounds__(128)
    forward_step(const float* L, int order, int first, const float* inverse, int q, float* R, float* Y) {
  constexpr int n = block_order;
  __shared__ float x[solved_columns][n];
  const int column = blockIdx.y * solved_columns, columns = min(solved_columns, q - column);
  float* const r = R + static_cast<size_t>(column) * order;
  block_solution(inverse, r + first, order, columns, false, x);
  if (blockIdx.x == 0) {
    float* const y = Y + static_cast<size_t>(column) * order + first + threadIdx.x;
    for (int c = 0; c < columns; ++c) y[static_cast<size_t>(c) * order] = x[c][threadIdx.x];
    return;
  }
  const int begin = first + blockIdx.x * n, lane = threadIdx.x % 32;
  for (int i = threadIdx.x / 32; i < n; i += 4) {
    const float* row = L + static_cast<size_t>(begin + i) * order + first;
    float entries[n / 32];
#pragma unroll
    for (int k = 0; k < n / 32; ++k) entries[k] = row[lane + 32 * k];
    for (int c = 0; c < columns; ++c) {
      float sum = 0;
#pragma unroll
      for (int k = 0; k < n / 32; ++k) sum = fmaf(entries[k], x[c][lane + 32 * k], sum);
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (lane == 0) r[static_cast<size_t>(c) * order + begin + i] -= sum;
    }
  }
}

// One step of Lᵀ z = y, from the last block: blocks x > 0 have the columns before.
__global__ void __launch_bounds__(128)
    backward_step(const float* L, int order, int first, const float* inverse, int q, float* Y, float* Z) {
  constexpr int n = block_order;
  __shared__ float x[solved_columns][n];
  const int column = blockIdx.y * solved_columns, columns = min(solved_columns, q - column);
  float* const y = Y + static_cast<size_t>(column) * order;
  block_solution(inverse, y + first, order, columns, true, x);
  if (blockIdx.x == 0) {
    float* const z = Z + static_cast<size_t>(column) * order + first + threadIdx.x;
    for (int c = 0; c < columns; ++c) z[static_cast<size_t>(c) * order] = x[c][threadIdx.x];
    return;
  }
  const int j = (blockIdx.x - 1) * n + threadIdx.x;
  const float* entries = L + static_cast<size_t>(first) * order + j;
  float sums[solved_columns] = {};
  for (int k = 0; k < n; ++k) {
    const float entry = entries[static_cast<size_t>(k) * order];
#pragma unroll
    for (int c = 0; c < solved_columns; ++c) sums[c] = fmaf(entry, x[c][k], sums[c]);
  }
  for (int c = 0; c < columns; ++c) y[static_cast<size_t>(c) * order + j] -= sums[c];
}

}  // namespace carmina::cuda
