// backends/cpu/vector_math_avx2.cpp -- vector math on AVX2 registers; SLEEF's exponential, and its sine and cosine of
// huge phases.
#include "backends/cpu/elementary.hpp"
#include "backends/cpu/vector_math_loops.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#include <sleef.h>

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
  static Register exp(Register x) { return Sleef_expf8_u10avx2(x); }
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
  static void sincos_far(Register x, Register& sine, Register& cosine) {
    const auto both = Sleef_sincosf8_u35avx2(x);
    sine = both.x;
    cosine = both.y;
  }
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
  static Register exp(Register x) { return Sleef_expd4_u10avx2(x); }
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
  static void sincos_far(Register x, Register& sine, Register& cosine) {
    const auto both = Sleef_sincosd4_u35avx2(x);
    sine = both.x;
    cosine = both.y;
  }
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
