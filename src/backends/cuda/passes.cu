// backends/cuda/passes.cu -- launches of the passes.
#include "backends/cuda/device_memory.hpp"
#include "backends/cuda/passes.hpp"
#include "backends/cuda/phased_many.cuh"
#include "backends/cuda/split_many.cuh"
#include "backends/cuda/split_passes.cuh"
#include "backends/cuda/wide_passes.cuh"

#include <type_traits>
#include <utility>

namespace carmina::cuda {
namespace {

template <int value>
using Number = std::integral_constant<int, value>;

// each(Number<P>)
template <class Each>
void with_columns(int P, const Each& each) {
  if (P == 1) return each(Number<1>());
  if (P == 2) return each(Number<2>());
  each(Number<4>());
}

// each(Number<H>) with the eights of 16 or 64 columns.
template <class Each>
void with_eights(int P, const Each& each) {
  if (P == many_columns) return each(Number<many_columns / 8>());
  each(Number<most_columns / 8>());
}

// each(constant) with what pairs of a profile add up.
template <class Each>
void with_pairs(const Profile& profile, const Each& each) {
  switch (pairs_of(profile)) {
    case Pairs::products:
      return each(std::integral_constant<Pairs, Pairs::products>());
    case Pairs::squares:
      return each(std::integral_constant<Pairs, Pairs::squares>());
    case Pairs::magnitudes:
      return each(std::integral_constant<Pairs, Pairs::magnitudes>());
  }
}

// each(Number<S>): 0 where halves do not stay in registers.
template <class Each>
void with_steps(int steps, const Each& each) {
  if (steps == 1) return each(Number<1>());
  if (steps == 2) return each(Number<2>());
  if (steps == 3) return each(Number<3>());
  each(Number<0>());
}

unsigned parts(int64_t count, int64_t of) { return static_cast<unsigned>((count + of - 1) / of); }

}  // namespace

void make_phases(const SplitOperands& of, int64_t rows, float* phases, cudaStream_t stream) {
  constexpr int bytes = phase_stages * 1024 * static_cast<int>(sizeof(uint4));
  check(cudaFuncSetAttribute(split_phases, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "preparing");
  const dim3 grid(parts(rows, 128), parts(of.padded_units, 128));
  split_phases<<<grid, 256, bytes, stream>>>(of.rows, static_cast<int>((rows + 7) / 8), of.frequency_groups,
                                             static_cast<int>(of.padded_units), of.steps, phases);
  check_launch("making phases");
}

void forward(const SplitOperands& of, int64_t rows, int P, const float* coefficients, float* out, cudaStream_t stream) {
  if (takes_phases(of.steps, P)) {
    const auto groups = static_cast<int>((rows + 7) / 8);
    with_eights(P, [&](auto H) {
      phased_forward_many<H()><<<parts(groups, 4 * warps), warps * lanes, 0, stream>>>(
          of.phases, static_cast<int>(of.padded_units), groups, static_cast<int>(rows),
          static_cast<int>((of.units + 7) / 8), reinterpret_cast<const uint4*>(coefficients), out);
    });
    return check_launch("multiplying by features");
  }
  with_steps(of.steps, [&](auto S) {
    const auto groups = static_cast<int>((rows + 7) / 8);
    if constexpr (S() > 0) {
      if (P >= many_columns) {
        with_eights(P, [&](auto H) {
          split_forward_many<S(), H()><<<parts(groups, 4 * warps), warps * lanes, 0, stream>>>(
              of.rows, groups, static_cast<int>(rows), of.frequency_groups, static_cast<int>((of.units + 7) / 8),
              of.steps, reinterpret_cast<const uint4*>(coefficients), out);
        });
        return;
      }
    }
    with_columns(P, [&](auto columns) {
      constexpr int N = S() > 0 && columns() == 4 ? 2 : 4;
      const auto tiles = static_cast<int>((of.units + 15) / 16);
      split_forward<S(), N, columns()><<<parts(groups, N * warps), warps * lanes, 0, stream>>>(
          of.rows, groups, static_cast<int>(rows), of.frequencies, tiles, of.steps, coefficients, out);
    });
  });
  check_launch("multiplying by features");
}

void adjoint(const SplitOperands& of, int64_t rows, int P, const float* R, float* partial, cudaStream_t stream) {
  if (takes_phases(of.steps, P)) {
    const dim3 grid(parts(of.padded_units, 16 * warps), parts(rows, slice_rows));
    with_eights(P, [&](auto H) {
      phased_adjoint_many<H()><<<grid, warps * lanes, 0, stream>>>(of.phases, static_cast<int>(of.padded_units),
                                                                   static_cast<int>((rows + 7) / 8), R, partial);
    });
    return check_launch("summing features");
  }
  with_steps(of.steps, [&](auto S) {
    const auto groups = static_cast<int>((rows + 7) / 8), padded = static_cast<int>(of.padded_units);
    if constexpr (S() > 0) {
      if (P >= many_columns) {
        const dim3 grid(parts(of.padded_units, 16 * warps), parts(rows, slice_rows));
        with_eights(P, [&](auto H) {
          split_adjoint_many<S(), H()>
              <<<grid, warps * lanes, 0, stream>>>(of.rows, groups, of.frequencies, padded, of.steps, R, partial);
        });
        return;
      }
    }
    with_columns(P, [&](auto columns) {
      constexpr int M = columns() == 4 ? 1 : 2;
      const dim3 grid(parts(of.padded_units, 16 * M * warps), parts(rows, slice_rows));
      split_adjoint<S(), M, columns()>
          <<<grid, warps * lanes, 0, stream>>>(of.rows, groups, of.frequencies, padded, of.steps, R, partial);
    });
  });
  check_launch("summing features");
}

template <class T>
void forward(const WideOperands<T>& of, int64_t rows, int P, const T* coefficients, T* out, cudaStream_t stream) {
  with_pairs(of.profile, [&](auto pairs) {
    with_columns(P, [&](auto columns) {
      wide_forward<T, columns(), pairs()><<<parts(rows, wide_tile), 256, 0, stream>>>(
          of.profile, of.rows, rows, of.frequencies, of.units, of.inputs, coefficients, out);
    });
  });
  check_launch("multiplying by features");
}

template <class T>
void adjoint(const WideOperands<T>& of, int64_t rows, int P, const T* R, T* partial, cudaStream_t stream) {
  with_pairs(of.profile, [&](auto pairs) {
    with_columns(P, [&](auto columns) {
      const dim3 grid(parts(of.padded_units, wide_tile), parts(rows, slice_rows));
      wide_adjoint<T, columns(), pairs()><<<grid, 256, 0, stream>>>(
          of.profile, of.rows, rows, slice_rows, of.frequencies, of.units, of.padded_units, of.inputs, R, partial);
    });
  });
  check_launch("summing features");
}

#define CARMINA_INSTANTIATE(T)                                                             \
  template void forward(const WideOperands<T>&, int64_t, int, const T*, T*, cudaStream_t); \
  template void adjoint(const WideOperands<T>&, int64_t, int, const T*, T*, cudaStream_t);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina::cuda
