// backends/cuda/precondition.hpp -- the factor of a preconditioner.
#pragma once
#include "backends/cuda/device_memory.hpp"
#include "backends/cuda/passes.hpp"

namespace carmina::cuda {

// H (order, order) += sum r_i^2 phi phiᵀ to 22 bits, lower triangle, order 2 padded units; r_i (zero from `count` to a
// multiple of 32) at most 1.
void add_gram_of(const SplitOperands& of, int64_t count, const float* roots, double* H, cudaStream_t stream);
// The same to double; roots zero from `count` to a multiple of 64.
template <class T>
void add_gram_of(const WideOperands<T>& of, int64_t count, const double* roots, double* H, cudaStream_t stream);

// M = scale (H - g gᵀ / w) + alpha I of rows with these square roots of weights (zero from `count` to a multiple of
// 32), order 2 padded units, and its factor; what follows a unit's place up to the padding is the identity.
struct PreconditionerInput {
  SplitOperands of;
  int64_t count;
  const float* roots;
  bool centred;  // else without the second term
  float weight, scale, alpha;
};
// False where M is not positive definite.
bool factor_preconditioner(const PreconditionerInput& input, Buffer<float>& factor, Buffer<float>& inverses, int* flag,
                           cudaStream_t stream);
// Z (q, order) = M⁻¹ R, R (q, order) is lost.
void solve_preconditioner(const Buffer<float>& factor, const Buffer<float>& inverses, int64_t order, int64_t q,
                          float* R, float* Z, cudaStream_t stream);

// A = L Lᵀ of a matrix in host memory (lower triangle, row stride lda), in its place. False where it is not positive
// definite; A is then as it was.
bool factor_matrix(int64_t order, double* A, int64_t lda);

}  // namespace carmina::cuda
