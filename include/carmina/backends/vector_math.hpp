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

// Products with few columns, where a general matrix product spends its time on copies. A (rows, columns), row stride
// lda. out (rows, p) += A Bᵀ, B (p, columns)
void add_product_few(const float* A, Index lda, Index rows, Index columns, const float* B, Index ldb, Index p,
                     float* out, Index ldo);
void add_product_few(const double* A, Index lda, Index rows, Index columns, const double* B, Index ldb, Index p,
                     double* out, Index ldo);
// out (p, columns) += Rᵀ A, R (rows, p)
void add_transposed_few(const float* A, Index lda, Index rows, Index columns, const float* R, Index ldr, Index p,
                        float* out, Index ldo);
void add_transposed_few(const double* A, Index lda, Index rows, Index columns, const double* R, Index ldr, Index p,
                        double* out, Index ldo);
// Up to here a pass over the rows with both products was faster than with BLAS (about even at 1 column, slower at 16).
constexpr Index few_columns = 8;

// "avx512", "avx2" or "portable": what all of these run on.
const char* vector_instruction_set();

}  // namespace carmina::backend
