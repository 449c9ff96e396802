// backends/cpu/hadamard_avx512.cpp -- the Walsh-Hadamard transform on AVX-512 registers.
#include "backends/cpu/hadamard_loops.hpp"

#ifdef __AVX512F__
#include <immintrin.h>

namespace carmina::backend {
namespace {

// A step inside a register adds each number, the second of a pair with its sign changed, to its partner. The masks of
// permutations take all numbers: g++ 12 warns of the functions without one.
struct Float {
  using Scalar = float;
  using Register = __m512;
  static constexpr Index width = 16;
  static constexpr __mmask16 all = 0xffff;
  static Register load(const float* x) { return _mm512_loadu_ps(x); }
  static void store(float* x, Register r) { _mm512_storeu_ps(x, r); }
  static Register add(Register a, Register b) { return _mm512_add_ps(a, b); }
  static Register subtract(Register a, Register b) { return _mm512_sub_ps(a, b); }
  static Register multiply(Register a, Register b) { return _mm512_mul_ps(a, b); }
  static Register transform(Register r) {
    const Register signs1 = _mm512_setr_ps(1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1);
    const Register signs2 = _mm512_setr_ps(1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1);
    const Register signs4 = _mm512_setr_ps(1, 1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1);
    const Register signs8 = _mm512_setr_ps(1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1);
    r = _mm512_fmadd_ps(r, signs1, _mm512_maskz_permute_ps(all, r, 0xb1));
    r = _mm512_fmadd_ps(r, signs2, _mm512_maskz_permute_ps(all, r, 0x4e));
    r = _mm512_fmadd_ps(r, signs4, _mm512_maskz_shuffle_f32x4(all, r, r, 0xb1));
    return _mm512_fmadd_ps(r, signs8, _mm512_maskz_shuffle_f32x4(all, r, r, 0x4e));
  }
};

struct Double {
  using Scalar = double;
  using Register = __m512d;
  static constexpr Index width = 8;
  static constexpr __mmask8 all = 0xff;
  static Register load(const double* x) { return _mm512_loadu_pd(x); }
  static void store(double* x, Register r) { _mm512_storeu_pd(x, r); }
  static Register add(Register a, Register b) { return _mm512_add_pd(a, b); }
  static Register subtract(Register a, Register b) { return _mm512_sub_pd(a, b); }
  static Register multiply(Register a, Register b) { return _mm512_mul_pd(a, b); }
  static Register transform(Register r) {
    r = _mm512_fmadd_pd(r, _mm512_setr_pd(1, -1, 1, -1, 1, -1, 1, -1), _mm512_maskz_permute_pd(all, r, 0x55));
    r = _mm512_fmadd_pd(r, _mm512_setr_pd(1, 1, -1, -1, 1, 1, -1, -1), _mm512_maskz_shuffle_f64x2(all, r, r, 0xb1));
    return _mm512_fmadd_pd(r, _mm512_setr_pd(1, 1, 1, 1, -1, -1, -1, -1), _mm512_maskz_shuffle_f64x2(all, r, r, 0x4e));
  }
};

}  // namespace

const HadamardTable* avx512_hadamard() {
  static const HadamardTable table = {hadamard_loop<Float>, hadamard_loop<Double>};
  return &table;
}

}  // namespace carmina::backend

#else

namespace carmina::backend {
const HadamardTable* avx512_hadamard() { return nullptr; }
}  // namespace carmina::backend

#endif
