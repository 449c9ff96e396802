// backends/cuda/passes.hpp -- the two passes, chosen by precision, number of inputs and of columns.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

namespace carmina::cuda {

// carmina_cuda_profile and its shape.
struct Profile {
  int kind;
  double shape;
};

// Rows and frequencies as halves (split), or as they are.
struct SplitOperands {
  const uint4 *rows, *frequencies, *frequency_groups;  // frequencies in tiles of 16, and in groups of 8 like rows
  int64_t units, padded_units;                         // padded: to a multiple of 256
  int steps;
  const float* phases;  // (rows padded to 8, padded units), or null: made by the passes
};
template <class T>
struct WideOperands {
  const T* rows;
  const double* frequencies;
  int64_t units, padded_units;
  int inputs;
  Profile profile;
};

// Whether passes of so many columns take phases that are stored; and these.
constexpr int most_steps_held = 3;  // halves of so many steps stay in registers
inline bool takes_phases(int steps, int P) { return steps > most_steps_held && P >= 16; }
void make_phases(const SplitOperands& of, int64_t rows, float* phases, cudaStream_t stream);

// out (rows, P) = phi C; coefficients (padded units, 2, P). P is 1, 2 or 4, of split operands also 16 or 64.
void forward(const SplitOperands& of, int64_t rows, int P, const float* coefficients, float* out, cudaStream_t stream);
constexpr int many_columns = 16, most_columns = 64;
// Where entry (unit, part, column) of coefficients of so many columns goes: its parts of 11 bits are 2 numbers apart.
inline size_t many_place(int64_t unit, int part, int column, int columns) {
  const int64_t lane = column % 8 * 4 + unit % 8 / 2;
  return static_cast<size_t>((((unit / 8 * 2 + part) * (columns / 8) + column / 8) * 32 + lane) * 4 + unit % 2);
}
template <class T>
void forward(const WideOperands<T>& of, int64_t rows, int P, const T* coefficients, T* out, cudaStream_t stream);

// partial (slices, 2, padded units, P): sums over slices of rows of R [cos, sin]; R (rows padded to 8, P), zero beyond.
void adjoint(const SplitOperands& of, int64_t rows, int P, const float* R, float* partial, cudaStream_t stream);
template <class T>
void adjoint(const WideOperands<T>& of, int64_t rows, int P, const T* R, T* partial, cudaStream_t stream);

}  // namespace carmina::cuda
