// backends/cuda/wide_gram.cu -- Gram matrices of rows whose phases are in double.
#include "backends/cuda/precondition.hpp"
#include "backends/cuda/wide_gram.cuh"

#include <algorithm>

namespace carmina::cuda {

template <class T>
void add_gram_of(const WideOperands<T>& of, int64_t count, const double* roots, double* H, cudaStream_t stream) {
  const int64_t order = 2 * of.padded_units;
  // Features of half a gigabyte at the most.
  const int64_t rows_at_once = std::clamp<int64_t>((int64_t{1} << 26) / order / wide_tile * wide_tile, wide_tile, 8192);
  const int64_t most = std::min(rows_at_once, (count + wide_tile - 1) / wide_tile * wide_tile);
  constexpr int bytes = wide_gram_stages * 2 * 16 * 4 * 32 * static_cast<int>(sizeof(double));
  check(cudaFuncSetAttribute(add_wide_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "preparing");
  Buffer<double> features(static_cast<size_t>(order * most));
  for (int64_t first = 0; first < count; first += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, count - first), tiles = (rows + wide_tile - 1) / wide_tile;
    const auto chunks = static_cast<int>(tiles * wide_tile / 4), side = static_cast<int>(order / 128);
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(of.padded_units / wide_tile));
    wide_features<<<grid, 256, 0, stream>>>(of.rows + first * of.inputs, rows, of.frequencies, of.units,
                                            of.padded_units, of.inputs, roots + first, chunks, features.data());
    check_launch("making features");
    add_wide_tiles<<<dim3(side, side), 256, bytes, stream>>>(features.data(), chunks, H, static_cast<int>(order));
    check_launch("multiplying features");
  }
  check(cudaStreamSynchronize(stream), "multiplying features");  // before `features` goes
}
template void add_gram_of(const WideOperands<float>&, int64_t, const double*, double*, cudaStream_t);
template void add_gram_of(const WideOperands<double>&, int64_t, const double*, double*, cudaStream_t);

}  // namespace carmina::cuda
