// backends/cpu/vector_math_avx2.cpp -- vector math on AVX2 registers.
#include "backends/cpu/elementary.hpp"
#include "backends/cpu/vector_math_loops.hpp"

#ifdef __AVX2__
#include <immintrin.h>

namespace carmina::backend {
namespace {

struct Float {
  using Scalar = float;
  using Register = __m256;
  static constexpr int registers = 16;
  static constexpr Index width = 8;
  static Register load(const float* x) { return _mm256_loadu_ps(x); }
  static void store(float* x, Register r) { _mm256_storeu_ps(x, r); }
  static void stream(float* x, Register r) { _mm256_stream_ps(x, r); }
  static void fence() { _mm_sfence(); }
  static Register broadcast(float x) { return _mm256_set1_ps(x); }
  static Register multiply(Register a, Register b) { return _mm256_mul_ps(a, b); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(Register r) {
    alignas(32) float part[width];
    _mm256_store_ps(part, r);
    float total = 0;
    for (const float x : part) total += x;
    return total;
  }
  // Outside of the bounds the result is 0 or infinite; NaN passes.
  [[gnu::always_inline]] static Register exp(Register x) {
    return exp_near<Float>(_mm256_min_ps(_mm256_set1_ps(90), _mm256_max_ps(_mm256_set1_ps(-110), x)));
  }
  // a 2^n for n of exp(): 2^n may be none of the numbers there are, its two halves are.
  [[gnu::always_inline]] static Register scale_by_power(Register a, Register n) {
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    const auto power = [](__m256i k) {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(k, _mm256_set1_epi32(127)), 23));
    };
    return _mm256_mul_ps(_mm256_mul_ps(a, power(half)), power(_mm256_sub_epi32(whole, half)));
  }
  static Register add(Register a, Register b) { return _mm256_add_ps(a, b); }
  static Register subtract(Register a, Register b) { return _mm256_sub_ps(a, b); }
  static Register maximum(Register a, Register b) { return _mm256_max_ps(a, b); }
  static Register round(Register a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  // The last bits of `shifted` are those of q (elementary.hpp): an odd q exchanges sine and cosine, q mod 4 in {2, 3}
  // negates the sine, in {1, 2} the cosine.
  [[gnu::always_inline]] static void turn(Register shifted, Register s, Register c, Register& sine, Register& cosine) {
    const __m256i q = _mm256_castps_si256(shifted), next = _mm256_add_epi32(q, _mm256_set1_epi32(1));
    const Register odd = _mm256_castsi256_ps(_mm256_slli_epi32(q, 31)), sign = _mm256_set1_ps(-0.0F);
    const auto negated = [&](Register value, __m256i bits) {
      return _mm256_xor_ps(value, _mm256_and_ps(sign, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 30))));
    };
    sine = negated(_mm256_blendv_ps(s, c, odd), q);
    cosine = negated(_mm256_blendv_ps(c, s, odd), next);
  }
  [[gnu::always_inline]] static Register negate_odd(Register shifted, Register value) {
    const __m256i sign = _mm256_slli_epi32(_mm256_castps_si256(shifted), 31);
    return _mm256_xor_ps(value, _mm256_castsi256_ps(sign));
  }
  static bool near(Register x) {
    const Register size = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x);
    const Register limit = _mm256_set1_ps(Elementary<float>::largest_phase);
    return _mm256_movemask_ps(_mm256_cmp_ps(size, limit, _CMP_NLE_UQ)) == 0;
  }
  [[gnu::always_inline]] static void sincos(Register x, Register& sine, Register& cosine) {
    sincos_near<Float>(x, sine, cosine);
  }
  static void sincos_far(Register x, Register& sine, Register& cosine) { sincos_one_by_one<Float>(x, sine, cosine); }
};

struct Double {
  using Scalar = double;
  using Register = __m256d;
  static constexpr int registers = 16;
  static constexpr Index width = 4;
  static Register load(const double* x) { return _mm256_loadu_pd(x); }
  static void store(double* x, Register r) { _mm256_storeu_pd(x, r); }
  static void stream(double* x, Register r) { _mm256_stream_pd(x, r); }
  static void fence() { _mm_sfence(); }
  static Register broadcast(double x) { return _mm256_set1_pd(x); }
  static Register multiply(Register a, Register b) { return _mm256_mul_pd(a, b); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_pd(a, b, c); }
  static double sum(Register r) {
    alignas(32) double part[width];
    _mm256_store_pd(part, r);
    double total = 0;
    for (const double x : part) total += x;
    return total;
  }
  // Outside of the bounds the result is 0 or infinite; NaN passes.
  [[gnu::always_inline]] static Register exp(Register x) {
    return exp_near<Double>(_mm256_min_pd(_mm256_set1_pd(711), _mm256_max_pd(_mm256_set1_pd(-750), x)));
  }
  // As for float; the last bits of n + magic are those of n.
  [[gnu::always_inline]] static Register scale_by_power(Register a, Register n) {
    const Register half = round(_mm256_mul_pd(n, _mm256_set1_pd(0.5)));
    const auto power = [](Register k) {
      const __m256i bits = _mm256_castpd_si256(_mm256_add_pd(k, _mm256_set1_pd(Elementary<double>::magic)));
      return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi64(bits, _mm256_set1_epi64x(1023)), 52));
    };
    return _mm256_mul_pd(_mm256_mul_pd(a, power(half)), power(_mm256_sub_pd(n, half)));
  }
  static Register add(Register a, Register b) { return _mm256_add_pd(a, b); }
  static Register subtract(Register a, Register b) { return _mm256_sub_pd(a, b); }
  static Register maximum(Register a, Register b) { return _mm256_max_pd(a, b); }
  static Register round(Register a) { return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  [[gnu::always_inline]] static void turn(Register shifted, Register s, Register c, Register& sine, Register& cosine) {
    const __m256i q = _mm256_castpd_si256(shifted), next = _mm256_add_epi64(q, _mm256_set1_epi64x(1));
    const Register odd = _mm256_castsi256_pd(_mm256_slli_epi64(q, 63)), sign = _mm256_set1_pd(-0.0);
    const auto negated = [&](Register value, __m256i bits) {
      return _mm256_xor_pd(value, _mm256_and_pd(sign, _mm256_castsi256_pd(_mm256_slli_epi64(bits, 62))));
    };
    sine = negated(_mm256_blendv_pd(s, c, odd), q);
    cosine = negated(_mm256_blendv_pd(c, s, odd), next);
  }
  [[gnu::always_inline]] static Register negate_odd(Register shifted, Register value) {
    const __m256i sign = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 63);
    return _mm256_xor_pd(value, _mm256_castsi256_pd(sign));
  }
  static bool near(Register x) {
    const Register size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
    const Register limit = _mm256_set1_pd(Elementary<double>::largest_phase);
    return _mm256_movemask_pd(_mm256_cmp_pd(size, limit, _CMP_NLE_UQ)) == 0;
  }
  [[gnu::always_inline]] static void sincos(Register x, Register& sine, Register& cosine) {
    sincos_near<Double>(x, sine, cosine);
  }
  static void sincos_far(Register x, Register& sine, Register& cosine) { sincos_one_by_one<Double>(x, sine, cosine); }
};

}  // namespace

const VectorMath* avx2_vector_math() {
  static const VectorMath table = vector_math_of<Float, Double>("avx2");
  return &table;
}

}  // namespace carmina::backend

#else

namespace carmina::backend {
const VectorMath* avx2_vector_math() { return nullptr; }
}  // namespace carmina::backend

#endif
