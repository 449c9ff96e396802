// backends/vector_math.hpp -- sine, cosine and exponential of many numbers at once, for the machine it runs on.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina::backend {

// cosine[i] = scale cos(x[i]), sine[i] = scale sin(x[i]). Arrays may not overlap, except cosine == x or sine == x.
void sincos_scaled(const float* x, float scale, float* cosine, float* sine, Index count);
void sincos_scaled(const double* x, double scale, double* cosine, double* sine, Index count);

// x[i] = exp(factor x[i])
void exp_scaled(float* x, float factor, Index count);
void exp_scaled(double* x, double factor, Index count);

// "avx512", "avx2" or "portable": what the two above run on.
const char* vector_instruction_set();

}  // namespace carmina::backend
