// backends/cpu/bfloat16.cpp -- compiled for AVX-512 BF16; reduced_gram.cpp asks the machine before it calls.
#include "backends/cpu/bfloat16.hpp"

#ifdef __AVX512BF16__
#include <immintrin.h>

#include <algorithm>

namespace carmina::backend::bfloat16 {
namespace {

constexpr int tall = 8;  // rows of the result held in registers, two registers each

// 16 floats from x, zeros after the first `count`.
__m512 load(const float* x, Index count) {
  if (!x || count <= 0) return _mm512_setzero_ps();
  const auto mask = static_cast<__mmask16>(count >= 16 ? 0xffff : (1U << count) - 1);
  return _mm512_maskz_loadu_ps(mask, x);
}

}  // namespace

bool compiled() { return true; }

void pack(const float* first, const float* second, Index columns, Index k, Index pairs, std::uint32_t* panels) {
  const Index whole = (columns + panel - 1) / panel * panel;
  for (Index j = 0; j < whole; j += 16) {
    const auto low = _mm512_cvtneps_pbh(load(first + j, columns - j));
    const auto high = _mm512_cvtneps_pbh(load(second ? second + j : nullptr, columns - j));
    const __m512i cells = _mm512_or_si512(_mm512_cvtepu16_epi32((__m256i)low),
                                          _mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)high), 16));
    _mm512_storeu_si512(panels + (j / panel * pairs + k) * panel + j % panel, cells);
  }
}

void add_product(const std::uint32_t* left, const std::uint32_t* right, Index pairs, float* out, Index ldo) {
  for (Index i = 0; i < panel; i += tall, left += tall) {
    __m512 sums[tall][2];
    for (auto& row : sums) row[0] = row[1] = _mm512_setzero_ps();
    for (Index k = 0; k < pairs; ++k) {
      const auto b0 = (__m512bh)_mm512_loadu_si512(right + k * panel);
      const auto b1 = (__m512bh)_mm512_loadu_si512(right + k * panel + 16);
      for (int r = 0; r < tall; ++r) {
        const auto a = (__m512bh)_mm512_set1_epi32(static_cast<int>(left[k * panel + r]));
        sums[r][0] = _mm512_dpbf16_ps(sums[r][0], a, b0);
        sums[r][1] = _mm512_dpbf16_ps(sums[r][1], a, b1);
      }
    }
    for (int r = 0; r < tall; ++r) {
      float* const row = out + (i + r) * ldo;
      _mm512_storeu_ps(row, _mm512_add_ps(_mm512_loadu_ps(row), sums[r][0]));
      _mm512_storeu_ps(row + 16, _mm512_add_ps(_mm512_loadu_ps(row + 16), sums[r][1]));
    }
  }
}

}  // namespace carmina::backend::bfloat16

#else

namespace carmina::backend::bfloat16 {
bool compiled() { return false; }
void pack(const float*, const float*, Index, Index, Index, std::uint32_t*) {}
void add_product(const std::uint32_t*, const std::uint32_t*, Index, float*, Index) {}
}  // namespace carmina::backend::bfloat16

#endif
