// backends/cuda/cholesky.cuh -- Cholesky factor of a matrix in float, and its triangular systems, by blocks of 128.
#pragma once

namespace carmina::cuda {

constexpr int block_order = 128;

// The factor L of a diagonal block of A, in its place (lower triangle), and its inverse (128, 128), zero above the
// diagonal. `failed` is set where A is not positive definite. One block of 512 threads.
__global__ void __launch_bounds__(512) factor_diagonal(float* A, int order, int first, float* inverse, int* failed) {
  constexpr int n = block_order, ld = n + 1;
  extern __shared__ float L[];  // (n, ld), then a copy for the inverse
  float* const V = L + n * ld;
  float* const block = A + static_cast<size_t>(first) * order + first;
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) {
    L[k / n * ld + k % n] = k % n <= k / n ? block[static_cast<size_t>(k / n) * order + k % n] : 0;
    V[k / n * ld + k % n] = k / n == k % n;
  }
  __syncthreads();
  // Column after column; rows of V take the same steps: V = L⁻¹ at the end.
  for (int j = 0; j < n; ++j) {
    const float pivot = L[j * ld + j];
    if (!(pivot > 0) || isinf(pivot)) {
      if (threadIdx.x == 0) *failed = 1;
      return;
    }
    const float root = sqrtf(pivot);
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
      const float factor = L[i * ld + j];
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

// A tile (128, 128) of X Yᵀ over 128 columns; 256 threads have 8 x 8 each, rows and columns 16 apart.
__device__ inline void tile_product(const float* X, const float* Y, int ldx, int ldy, float (&c)[8][8]) {
  constexpr int n = block_order, depth = 16;
  __shared__ float x[depth][n + 1], y[depth][n + 1];
  const int down = threadIdx.x / 16, across = threadIdx.x % 16;
  for (int k = 0; k < n; k += depth) {
    for (int i = threadIdx.x; i < n * depth; i += 256) {
      x[i % depth][i / depth] = X[static_cast<size_t>(i / depth) * ldx + k + i % depth];
      y[i % depth][i / depth] = Y[static_cast<size_t>(i / depth) * ldy + k + i % depth];
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < depth; ++s) {
      float a[8], b[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = x[s][down + 16 * i], b[i] = y[s][across + 16 * i];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) c[i][j] = fmaf(a[i], b[j], c[i][j]);
      }
    }
    __syncthreads();
  }
}

// Blocks below the diagonal block: A_i1 = A_i1 L11⁻ᵀ.
__global__ void __launch_bounds__(256) solve_panel(float* A, int order, int first, const float* inverse) {
  constexpr int n = block_order;
  float c[8][8] = {};
  float* const at = A + (static_cast<size_t>(first) + (blockIdx.x + 1) * n) * order + first;
  tile_product(at, inverse, order, n, c);
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      at[static_cast<size_t>(threadIdx.x / 16 + 16 * i) * order + threadIdx.x % 16 + 16 * j] = c[i][j];
    }
  }
}

// A_ij -= L_i1 L_j1ᵀ for the blocks i >= j beyond.
__global__ void __launch_bounds__(256) update_rest(float* A, int order, int first) {
  constexpr int n = block_order;
  if (blockIdx.y > blockIdx.x) return;
  float c[8][8] = {};
  float* const panel = A + static_cast<size_t>(first + n) * order + first;
  tile_product(panel + static_cast<size_t>(blockIdx.x) * n * order, panel + static_cast<size_t>(blockIdx.y) * n * order,
               order, order, c);
  float* const at = panel + n + static_cast<size_t>(blockIdx.x) * n * order + blockIdx.y * n;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      at[static_cast<size_t>(threadIdx.x / 16 + 16 * i) * order + threadIdx.x % 16 + 16 * j] -= c[i][j];
    }
  }
}

// x (128) = V r or Vᵀ r of one column in shared memory, by 128 threads.
__device__ inline void block_solution(const float* V, const float* r, bool transposed, float* x) {
  constexpr int n = block_order;
  __shared__ float right[n];
  right[threadIdx.x] = r[threadIdx.x];
  __syncthreads();
  float sum = 0;
  const int i = threadIdx.x;
  if (transposed) {
    for (int k = i; k < n; ++k) sum = fmaf(V[k * n + i], right[k], sum);
  } else {
    for (int k = 0; k <= i; ++k) sum = fmaf(V[i * n + k], right[k], sum);
  }
  x[i] = sum;
  __syncthreads();
}

// One step of L y = r for columns of R (q, order): block x = 0 writes the solution of the diagonal block, the others
// take it from the rows beyond. Blocks (1 + blocks beyond, q) of 128 threads.
__global__ void __launch_bounds__(128)
    forward_step(const float* L, int order, int first, const float* inverse, float* R, float* Y) {
  constexpr int n = block_order;
  __shared__ float x[n];
  float* const r = R + static_cast<size_t>(blockIdx.y) * order;
  block_solution(inverse, r + first, false, x);
  if (blockIdx.x == 0) {
    Y[static_cast<size_t>(blockIdx.y) * order + first + threadIdx.x] = x[threadIdx.x];
    return;
  }
  const int begin = first + blockIdx.x * n, lane = threadIdx.x % 32;
  for (int i = threadIdx.x / 32; i < n; i += 4) {
    const float* row = L + static_cast<size_t>(begin + i) * order + first;
    float sum = 0;
    for (int k = lane; k < n; k += 32) sum = fmaf(row[k], x[k], sum);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) r[begin + i] -= sum;
  }
}

// One step of Lᵀ z = y, from the last block: blocks x > 0 have the columns before.
__global__ void __launch_bounds__(128)
    backward_step(const float* L, int order, int first, const float* inverse, float* Y, float* Z) {
  constexpr int n = block_order;
  __shared__ float x[n];
  float* const y = Y + static_cast<size_t>(blockIdx.y) * order;
  block_solution(inverse, y + first, true, x);
  if (blockIdx.x == 0) {
    Z[static_cast<size_t>(blockIdx.y) * order + first + threadIdx.x] = x[threadIdx.x];
    return;
  }
  const int j = (blockIdx.x - 1) * n + threadIdx.x;
  const float* column = L + static_cast<size_t>(first) * order + j;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fmaf(column[static_cast<size_t>(k) * order], x[k], sum);
  y[j] -= sum;
}

}  // namespace carmina::cuda
