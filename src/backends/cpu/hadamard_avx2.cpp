// backends/cpu/hadamard_avx2.cpp -- the Walsh-Hadamard transform on AVX2 registers.
#include "backends/cpu/hadamard_loops.hpp"

#ifdef __AVX2__
#include <immintrin.h>

namespace carmina::backend {
namespace {

// A step inside a register adds each number, the second of a pair with its sign changed, to its partner.
struct Float {
  using Scalar = float;
  using Register = __m256;
  static constexpr Index width = 8;
  static Register load(const float* x) { return _mm256_loadu_ps(x); }
  static void store(float* x, Register r) { _mm256_storeu_ps(x, r); }
  static Register add(Register a, Register b) { return _mm256_add_ps(a, b); }
  static Register subtract(Register a, Register b) { return _mm256_sub_ps(a, b); }
  static Register multiply(Register a, Register b) { return _mm256_mul_ps(a, b); }
  static Register transform(Register r) {
    r = _mm256_fmadd_ps(r, _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1), _mm256_permute_ps(r, 0xb1));
    r = _mm256_fmadd_ps(r, _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1), _mm256_permute_ps(r, 0x4e));
    return _mm256_fmadd_ps(r, _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1), _mm256_permute2f128_ps(r, r, 0x01));
  }
};

struct Double {
  using Scalar = double;
  using Register = __m256d;
  static constexpr Index width = 4;
  static Register load(const double* x) { return _mm256_loadu_pd(x); }
  static void store(double* x, Register r) { _mm256_storeu_pd(x, r); }
  static Register add(Register a, Register b) { return _mm256_add_pd(a, b); }
  static Register subtract(Register a, Register b) { return _mm256_sub_pd(a, b); }
  static Register multiply(Register a, Register b) { return _mm256_mul_pd(a, b); }
  static Register transform(Register r) {
    r = _mm256_fmadd_pd(r, _mm256_setr_pd(1, -1, 1, -1), _mm256_permute_pd(r, 0x5));
    return _mm256_fmadd_pd(r, _mm256_setr_pd(1, 1, -1, -1), _mm256_permute2f128_pd(r, r, 0x01));
  }
};

}  // namespace

const HadamardTable* avx2_hadamard() {
  static const HadamardTable table = {hadamard_loop<Float>, hadamard_loop<Double>};
  return &table;
}

}  // namespace carmina::backend

#else

namespace carmina::backend {
const HadamardTable* avx2_hadamard() { return nullptr; }
}  // namespace carmina::backend

#endif
