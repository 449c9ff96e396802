// backends/cpu/vector_math_avx512.cpp -- vector math on AVX-512 registers, SLEEF's functions (at most 3.5 units in the
// last place).
#include "vector_math_loops.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#include <sleef.h>

namespace carmina::backend {
namespace {

struct Float {
  using Scalar = float;
  using Register = __m512;
  static constexpr Index width = 16;
  static Register load(const float* x) { return _mm512_loadu_ps(x); }
  static void store(float* x, Register r) { _mm512_storeu_ps(x, r); }
  static Register broadcast(float x) { return _mm512_set1_ps(x); }
  static Register multiply(Register a, Register b) { return _mm512_mul_ps(a, b); }
  static Register exp(Register x) { return Sleef_expf16_u10avx512f(x); }
  static void sincos(Register x, Register& sine, Register& cosine) {
    const auto both = Sleef_sincosf16_u35avx512f(x);
    sine = both.x;
    cosine = both.y;
  }
};

struct Double {
  using Scalar = double;
  using Register = __m512d;
  static constexpr Index width = 8;
  static Register load(const double* x) { return _mm512_loadu_pd(x); }
  static void store(double* x, Register r) { _mm512_storeu_pd(x, r); }
  static Register broadcast(double x) { return _mm512_set1_pd(x); }
  static Register multiply(Register a, Register b) { return _mm512_mul_pd(a, b); }
  static Register exp(Register x) { return Sleef_expd8_u10avx512f(x); }
  static void sincos(Register x, Register& sine, Register& cosine) {
    const auto both = Sleef_sincosd8_u35avx512f(x);
    sine = both.x;
    cosine = both.y;
  }
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
