// backends/cuda/precondition.cu -- Gram matrix of some rows, Cholesky factor, solutions.
#include "backends/cuda/cholesky.cuh"
#include "backends/cuda/gram.cuh"
#include "backends/cuda/precondition.hpp"

#include <algorithm>

namespace carmina::cuda {
namespace {

// H += F Fᵀ and, where wanted, g += sums of features, of rows [0, count).
template <bool both, class Sum>
void add_rows(const SplitOperands& of, int64_t count, const float* roots, Sum* H, float* g, cudaStream_t stream) {
  constexpr int64_t rows_at_once = both ? 4096 : 16384;
  constexpr int bytes = gram_stages * (both ? 2048 : 1024) * static_cast<int>(sizeof(uint4));
  const auto order = static_cast<int>(2 * of.padded_units);
  check(cudaFuncSetAttribute(add_gram<both, Sum>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "preparing");
  const auto most = static_cast<size_t>(std::min(rows_at_once, (count + 31) / 32 * 32));
  Buffer<uint4> features(static_cast<size_t>(order) / 8 * most), rest(both ? features.size() : 0);
  for (int64_t first = 0; first < count; first += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, count - first);
    const int chunks = static_cast<int>((rows + 31) / 32), groups = static_cast<int>((rows + 7) / 8);
    const int tiles = static_cast<int>(of.padded_units / 16), side = order / gram_tile;
    split_features<both><<<(tiles * chunks + 7) / 8, 256, 0, stream>>>(
        of.rows + first / 8 * of.steps * 32, groups, chunks, of.frequencies, static_cast<int>(of.padded_units),
        of.steps, roots + first, features.data(), rest.data());
    check_launch("making features");
    if (g) add_feature_sums<<<order / 64, 256, 0, stream>>>(features.data(), chunks, roots + first, g);
    add_gram<both><<<dim3(side, side), 256, bytes, stream>>>(features.data(), rest.data(), chunks, H, order);
    check_launch("multiplying features");
  }
  check(cudaStreamSynchronize(stream), "multiplying features");  // before `features` goes
}

// A = L Lᵀ in its place, and the inverses of the diagonal blocks of L. False where A is not positive definite.
template <class T>
bool factor_blocks(T* A, int order, T* inverses, int* flag, cudaStream_t stream) {
  constexpr int n = order_of_blocks<T>, shared = 2 * n * (n + 1) * static_cast<int>(sizeof(T));
  const int blocks = order / n;
  check(cudaMemsetAsync(flag, 0, sizeof(int), stream), "preparing");
  check(cudaFuncSetAttribute(factor_diagonal<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), "preparing");
  for (int k = 0; k < blocks; ++k) {
    const int first = k * n, beyond = blocks - 1 - k;
    T* const inverse = inverses + static_cast<size_t>(k) * n * n;
    factor_diagonal<T><<<1, 512, shared, stream>>>(A, order, first, inverse, flag);
    if (beyond == 0) break;
    solve_panel<T><<<beyond, 256, 0, stream>>>(A, order, first, inverse);
    update_rest<T><<<dim3(beyond, beyond), 256, 0, stream>>>(A, order, first);
  }
  check_launch("factoring a matrix");
  int failed = 0;
  to_host(&failed, flag, 1, stream);
  check(cudaStreamSynchronize(stream), "factoring a matrix");
  return failed == 0;
}

}  // namespace

void add_gram_of(const SplitOperands& of, int64_t count, const float* roots, double* H, cudaStream_t stream) {
  add_rows<true>(of, count, roots, H, nullptr, stream);
}

bool factor_preconditioner(const PreconditionerInput& in, Buffer<float>& factor, Buffer<float>& inverses, int* flag,
                           cudaStream_t stream) {
  const auto order = static_cast<int>(2 * in.of.padded_units), blocks = order / block_order;
  factor.resize(static_cast<size_t>(order) * order);
  inverses.resize(static_cast<size_t>(blocks) * block_order * block_order);
  float* const A = factor.data();
  Buffer<float> sums(static_cast<size_t>(order));
  check(cudaMemsetAsync(A, 0, sizeof(float) * factor.size(), stream), "preparing");
  check(cudaMemsetAsync(sums.data(), 0, sizeof(float) * sums.size(), stream), "preparing");
  add_rows<false>(in.of, in.count, in.roots, A, in.centred ? sums.data() : nullptr, stream);
  shift_gram<<<dim3(order, (order + 255) / 256), 256, 0, stream>>>(
      A, order, static_cast<int>(in.of.units), static_cast<int>(in.of.padded_units), in.centred ? sums.data() : nullptr,
      in.weight, in.scale, in.alpha);
  check_launch("shifting a matrix");
  return factor_blocks(A, order, inverses.data(), flag, stream);
}

// Rows of the lower triangle come and go by a place at a fixed address; what is above the diagonal there stays.
bool factor_matrix(int64_t order, double* A, int64_t lda) {
  constexpr int n = order_of_blocks<double>;
  const int64_t padded = (order + n - 1) / n * n, together = std::max<int64_t>(1, (int64_t{1} << 22) / padded);
  const Stream stream;
  Buffer<double> matrix(static_cast<size_t>(padded * padded)), inverses(static_cast<size_t>(padded * n));
  Buffer<int> flag(1);
  Buffer<double, Place::host> some(static_cast<size_t>(together * padded));
  const auto strips = [&](const auto& body) {
    for (int64_t first = 0; first < padded; first += together) body(first, std::min(together, padded - first));
  };
  strips([&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      double* const row = some.data() + i * padded;
      std::fill(row, row + padded, 0.0);
      if (first + i < order) {
        std::copy_n(A + (first + i) * lda, first + i + 1, row);
      } else {
        row[first + i] = 1;
      }
    }
    to_device(matrix.data() + first * padded, some.data(), static_cast<size_t>(count * padded), stream);
    stream.wait();
  });
  if (!factor_blocks(matrix.data(), static_cast<int>(padded), inverses.data(), flag.data(), stream)) return false;
  strips([&](int64_t first, int64_t count) {
    to_host(some.data(), matrix.data() + first * padded, static_cast<size_t>(count * padded), stream);
    stream.wait();
    for (int64_t i = 0; i < count && first + i < order; ++i) {
      std::copy_n(some.data() + i * padded, first + i + 1, A + (first + i) * lda);
    }
  });
  return true;
}

void solve_preconditioner(const Buffer<float>& factor, const Buffer<float>& inverses, int64_t order, int64_t q,
                          float* R, float* Z, cudaStream_t stream) {
  const auto n = static_cast<int>(order), blocks = n / block_order, columns = static_cast<int>(q);
  const auto eights = static_cast<unsigned>((q + solved_columns - 1) / solved_columns);
  const auto inverse = [&](int k) { return inverses.data() + static_cast<size_t>(k) * block_order * block_order; };
  for (int k = 0; k < blocks; ++k) {
    forward_step<<<dim3(blocks - k, eights), block_order, 0, stream>>>(factor.data(), n, k * block_order, inverse(k),
                                                                       columns, R, Z);
  }
  // y is now in Z, and R takes z.
  for (int k = blocks - 1; k >= 0; --k) {
    backward_step<<<dim3(k + 1, eights), block_order, 0, stream>>>(factor.data(), n, k * block_order, inverse(k),
                                                                   columns, Z, R);
  }
  check(cudaMemcpyAsync(Z, R, sizeof(float) * order * q, cudaMemcpyDeviceToDevice, stream), "solving");
  check_launch("solving");
}

}  // namespace carmina::cuda
