// backends/cpu/bfloat16.cpp -- compiled for AVX-512 BF16 and AMX; reduced_gram.cpp asks the machine before it calls.
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
    const auto low = _mm512_cvtneps_pbh(load(first ? first + j : nullptr, columns - j));
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

#if defined(__AVX512BF16__) && defined(__AMX_BF16__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace carmina::backend::bfloat16 {

// Leaf 7 of cpuid: EDX bits 22 and 24 are AMX-BF16 and AMX-TILE. The tiles are large: Linux gives them to a process
// that asks.
bool has_tiles() {
  static const bool available = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1)) return false;
    constexpr int request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return available;
}

void turn(const std::uint32_t* left, Index pairs, std::uint32_t* out) {
  for (Index k = 0; k < pairs; k += tile_pairs, left += tile_pairs * panel, out += tile_pairs * panel) {
    for (Index r = 0; r < panel; ++r) {
      for (Index i = 0; i < tile_pairs; ++i) out[r * tile_pairs + i] = left[i * panel + r];
    }
  }
}

// Static: compilers take the intrinsic to read 8 bytes of it, and would not write the others.
void begin_tiles() {
  struct alignas(64) Shapes {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static constexpr Shapes tiles;
  _tile_loadconfig(&tiles);
}

void end_tiles() { _tile_release(); }

// Tiles 0 to 3 are the quarters of the result, 4 and 5 rows of the left panel, 6 and 7 columns of the right one.
void add_product_by_tiles(const std::uint32_t* turned, const std::uint32_t* right, Index pairs, float* out, Index ldo) {
  constexpr Index half = panel / 2, row = tile_pairs * 4, pair = panel * 4;  // bytes
  float* const below = out + half * ldo;
  const Index stride = ldo * 4;
  _tile_loadd(0, out, stride);
  _tile_loadd(1, out + half, stride);
  _tile_loadd(2, below, stride);
  _tile_loadd(3, below + half, stride);
  for (Index k = 0; k < pairs; k += tile_pairs, turned += tile_pairs * panel, right += tile_pairs * panel) {
    _tile_loadd(4, turned, row);
    _tile_loadd(6, right, pair);
    _tile_loadd(5, turned + half * tile_pairs, row);
    _tile_loadd(7, right + half, pair);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, out, stride);
  _tile_stored(1, out + half, stride);
  _tile_stored(2, below, stride);
  _tile_stored(3, below + half, stride);
}

}  // namespace carmina::backend::bfloat16

#else

namespace carmina::backend::bfloat16 {
bool has_tiles() { return false; }
void turn(const std::uint32_t*, Index, std::uint32_t*) {}
void begin_tiles() {}
void add_product_by_tiles(const std::uint32_t*, const std::uint32_t*, Index, float*, Index) {}
void end_tiles() {}
}  // namespace carmina::backend::bfloat16

#endif
