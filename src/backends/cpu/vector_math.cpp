// backends/cpu/vector_math.cpp -- chooses the instruction set once, when first called.
#include "vector_math_loops.hpp"

#include <carmina/backends/vector_math.hpp>

namespace carmina::backend {
namespace {

const VectorMath& chosen() {
  static const VectorMath* const table = [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (avx512_vector_math() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
      return avx512_vector_math();
    }
    if (avx2_vector_math() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return avx2_vector_math();
#endif
    return portable_vector_math();
  }();
  return *table;
}

}  // namespace

void sincos_scaled(const float* x, float scale, float* cosine, float* sine, Index count) {
  chosen().sincos_float(x, scale, cosine, sine, count);
}
void sincos_scaled(const double* x, double scale, double* cosine, double* sine, Index count) {
  chosen().sincos_double(x, scale, cosine, sine, count);
}
void exp_scaled(float* x, float factor, Index count) { chosen().exp_float(x, factor, count); }
void exp_scaled(double* x, double factor, Index count) { chosen().exp_double(x, factor, count); }
const char* vector_instruction_set() { return chosen().name; }

}  // namespace carmina::backend
