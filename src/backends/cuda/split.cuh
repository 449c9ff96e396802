// backends/cuda/split.cuh -- products of float vectors by halves on tensor cores, and what becomes of their phases.
//
// A float x = h + l, h = half(x), l = half(x - h), keeps 22 bits. <x, w> = <h, v> + <l, v> + <h, m> + <l, m> with
// w = v + m, and the last term is below the first one's rounding: three products of halves, here one of three times as
// many inputs, [h l h] by [v v m]. Inputs are scaled by powers of two so that |w_j| <= 1.
#pragma once
#include <cuda_fp16.h>

#include <cstdint>

namespace carmina::cuda {

// Vectors are kept as the registers of mma.m16n8k16 want them: 8 vectors by 32 entries are 32 lanes of 16 bytes. Lane l
// has vector l / 4 and entries 2 (l % 4) + {0, 1} + {0, 8, 16, 24}.
constexpr int group_rows = 8, step_entries = 32;
__host__ __device__ inline int split_steps(int inputs) { return (3 * inputs + step_entries - 1) / step_entries; }

// c (16, 8) += a (16, 32) b (8, 32)ᵀ. a is a tile: 16 vectors, whose two halves of the entries are four registers each,
// vectors g, g + 8, g, g + 8 of entries 2 (l % 4) and 8 further, so that no register is moved.
__device__ inline void multiply_add(float (&c)[4], const uint4& a0, const uint4& a1, const uint4& b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0.x), "r"(a0.y), "r"(a0.z), "r"(a0.w), "r"(b.x), "r"(b.y));
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a1.x), "r"(a1.y), "r"(a1.z), "r"(a1.w), "r"(b.z), "r"(b.w));
}
// The same of a as two groups.
__device__ inline void multiply_add_groups(float (&c)[4], const uint4& a0, const uint4& a1, const uint4& b) {
  multiply_add(c, {a0.x, a1.x, a0.y, a1.y}, {a0.z, a1.z, a0.w, a1.w}, b);
}

__device__ inline uint32_t pair_of(float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}

// Cosine and sine of t turns. t - rint(t) is exact: 1.5 2^23 leaves no room for a fraction.
__device__ inline void turn(float t, float& cosine, float& sine) {
  constexpr float shift = 12582912.0f;
  const float angle = 6.283185307179586f * (t - __fsub_rn(__fadd_rn(t, shift), shift));
  cosine = __cosf(angle);
  sine = __sinf(angle);
}

// Entry k of [h l h] (rows) or [v v m] (frequencies) of a vector whose k-th input is value(k).
enum class Side { rows, frequencies };
template <Side side, class Value>
__device__ inline float split_entry(int k, int inputs, const Value& value) {
  if (k >= 3 * inputs) return 0;
  const float x = value(k % inputs), high = __half2float(__float2half_rn(x));
  const bool low = side == Side::rows ? k / inputs == 1 : k / inputs == 2;
  return low ? x - high : high;
}

// The 16 bytes of a lane in step s of a group.
template <Side side, class Value>
__device__ inline uint4 split_lane(int lane, int step, int inputs, const Value& value) {
  uint32_t words[4];
  for (int i = 0; i < 4; ++i) {
    const int k = step * step_entries + 8 * i + 2 * (lane % 4);
    words[i] = pair_of(split_entry<side>(k, inputs, value), split_entry<side>(k + 1, inputs, value));
  }
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace carmina::cuda
