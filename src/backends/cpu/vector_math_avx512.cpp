// backends/cpu/vector_math_avx512.cpp -- vector math on AVX-512 registers.
#include "backends/cpu/elementary.hpp"
#include "backends/cpu/vector_math_loops.hpp"

#ifdef __AVX512F__
#include <immintrin.h>

namespace carmina::backend {
namespace {

struct Float {
  using Scalar = float;
  using Register = __m512;
  static constexpr int registers = 32;
  static constexpr Index width = 16;
  static Register load(const float* x) { return _mm512_loadu_ps(x); }
  static void store(float* x, Register r) { _mm512_storeu_ps(x, r); }
  static void stream(float* x, Register r) { _mm512_stream_ps(x, r); }
  static void fence() { _mm_sfence(); }
  static Register broadcast(float x) { return _mm512_set1_ps(x); }
  static Register multiply(Register a, Register b) { return _mm512_mul_ps(a, b); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(Register r) {
    alignas(64) float part[width];
    _mm512_store_ps(part, r);
    float total = 0;
    for (const float x : part) total += x;
    return total;
  }
  static Register add(Register a, Register b) { return _mm512_add_ps(a, b); }
  static Register subtract(Register a, Register b) { return _mm512_sub_ps(a, b); }
  static Register maximum(Register a, Register b) { return _mm512_max_ps(a, b); }
  static Register round(Register a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Register scale_by_power(Register a, Register n) { return _mm512_scalef_ps(a, n); }
  // The last bits of `shifted` are those of q (elementary.hpp): an odd q exchanges sine and cosine, q mod 4 in {2, 3}
  // negates the sine, in {1, 2} the cosine.
  [[gnu::always_inline]] static void turn(Register shifted, Register s, Register c, Register& sine, Register& cosine) {
    const __m512i q = _mm512_castps_si512(shifted), one = _mm512_set1_epi32(1), sign = _mm512_set1_epi32(1 << 31);
    const __mmask16 odd = _mm512_test_epi32_mask(q, one);
    const __m512i s_sign = _mm512_slli_epi32(q, 30), c_sign = _mm512_slli_epi32(_mm512_add_epi32(q, one), 30);
    const auto negated = [&](Register value, __m512i bits) {  // value ^ (bits & sign)
      return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(value), bits, sign, 0x78));
    };
    sine = negated(_mm512_mask_blend_ps(odd, s, c), s_sign);
    cosine = negated(_mm512_mask_blend_ps(odd, c, s), c_sign);
  }
  [[gnu::always_inline]] static Register negate_odd(Register shifted, Register value) {
    const __m512i sign = _mm512_slli_epi32(_mm512_castps_si512(shifted), 31);
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(value), sign));
  }
  // Outside of the bounds the result is 0 or infinite; NaN passes.
  [[gnu::always_inline]] static Register exp(Register x) {
    return exp_near<Float>(_mm512_min_ps(_mm512_set1_ps(90), _mm512_max_ps(_mm512_set1_ps(-110), x)));
  }
  static bool near(Register x) {
    const __m512 limit = _mm512_set1_ps(Elementary<float>::largest_phase);
    return _mm512_cmp_ps_mask(_mm512_abs_ps(x), limit, _CMP_NLE_UQ) == 0;
  }
  [[gnu::always_inline]] static void sincos(Register x, Register& sine, Register& cosine) {
    sincos_near<Float>(x, sine, cosine);
  }
  static void sincos_far(Register x, Register& sine, Register& cosine) { sincos_one_by_one<Float>(x, sine, cosine); }
};

struct Double {
  using Scalar = double;
  using Register = __m512d;
  static constexpr int registers = 32;
  static constexpr Index width = 8;
  static Register load(const double* x) { return _mm512_loadu_pd(x); }
  static void store(double* x, Register r) { _mm512_storeu_pd(x, r); }
  static void stream(double* x, Register r) { _mm512_stream_pd(x, r); }
  static void fence() { _mm_sfence(); }
  static Register broadcast(double x) { return _mm512_set1_pd(x); }
  static Register multiply(Register a, Register b) { return _mm512_mul_pd(a, b); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_pd(a, b, c); }
  static double sum(Register r) {
    alignas(64) double part[width];
    _mm512_store_pd(part, r);
    double total = 0;
    for (const double x : part) total += x;
    return total;
  }
  static Register add(Register a, Register b) { return _mm512_add_pd(a, b); }
  static Register subtract(Register a, Register b) { return _mm512_sub_pd(a, b); }
  static Register maximum(Register a, Register b) { return _mm512_max_pd(a, b); }
  static Register round(Register a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Register scale_by_power(Register a, Register n) { return _mm512_scalef_pd(a, n); }
  // The last bits of `shifted` are those of q (elementary.hpp): an odd q exchanges sine and cosine, q mod 4 in {2, 3}
  // negates the sine, in {1, 2} the cosine.
  [[gnu::always_inline]] static void turn(Register shifted, Register s, Register c, Register& sine, Register& cosine) {
    const __m512i q = _mm512_castpd_si512(shifted), one = _mm512_set1_epi64(1), sign = _mm512_set1_epi64(1LL << 63);
    const __mmask8 odd = _mm512_test_epi64_mask(q, one);
    const __m512i s_sign = _mm512_slli_epi64(q, 62), c_sign = _mm512_slli_epi64(_mm512_add_epi64(q, one), 62);
    const auto negated = [&](Register value, __m512i bits) {  // value ^ (bits & sign)
      return _mm512_castsi512_pd(_mm512_ternarylogic_epi64(_mm512_castpd_si512(value), bits, sign, 0x78));
    };
    sine = negated(_mm512_mask_blend_pd(odd, s, c), s_sign);
    cosine = negated(_mm512_mask_blend_pd(odd, c, s), c_sign);
  }
  [[gnu::always_inline]] static Register negate_odd(Register shifted, Register value) {
    const __m512i sign = _mm512_slli_epi64(_mm512_castpd_si512(shifted), 63);
    return _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(value), sign));
  }
  // Outside of the bounds the result is 0 or infinite; NaN passes.
  [[gnu::always_inline]] static Register exp(Register x) {
    return exp_near<Double>(_mm512_min_pd(_mm512_set1_pd(711), _mm512_max_pd(_mm512_set1_pd(-750), x)));
  }
  static bool near(Register x) {
    const __m512d limit = _mm512_set1_pd(Elementary<double>::largest_phase);
    return _mm512_cmp_pd_mask(_mm512_abs_pd(x), limit, _CMP_NLE_UQ) == 0;
  }
  [[gnu::always_inline]] static void sincos(Register x, Register& sine, Register& cosine) {
    sincos_near<Double>(x, sine, cosine);
  }
  static void sincos_far(Register x, Register& sine, Register& cosine) { sincos_one_by_one<Double>(x, sine, cosine); }
};

}  // namespace

const VectorMath* avx512_vector_math() {
  static const VectorMath table = vector_math_of<Float, Double>("avx512");
  return &table;
}

}  // namespace carmina::backend

#else

namespace carmina::backend {
const VectorMath* avx512_vector_math() { return nullptr; }
}  // namespace carmina::backend

#endif
