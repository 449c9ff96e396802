// backends/cpu/products.cpp -- products of matrices by loops of our own (backends/cpu/product_loops.hpp). OpenBLAS goes
// by a list of processors, and on one that is not in it takes kernels of half the rate or less.
#include "backends/blas.hpp"
#include "backends/cpu/product_loops.hpp"
#include "backends/vector_math.hpp"

namespace carmina::backend {
namespace {

template <Real T>
void multiply(const ProductTask<T>& task) {
  if (task.m > 0 && task.n > 0) matrix_product(task);
}

}  // namespace

template <Real T>
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, T alpha, const T* A, Index lda, const T* B, Index ldb,
          T beta, T* C, Index ldc) {
  multiply<T>({ta == Transpose::yes, tb == Transpose::yes, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, false});
}
template void gemm(Transpose, Transpose, Index, Index, Index, float, const float*, Index, const float*, Index, float,
                   float*, Index);
template void gemm(Transpose, Transpose, Index, Index, Index, double, const double*, Index, const double*, Index,
                   double, double*, Index);

template <Real T>
void gram(Index n, Index k, T alpha, const T* A, Index lda, T beta, T* C, Index ldc) {
  multiply<T>({true, false, n, n, k, alpha, A, lda, A, lda, beta, C, ldc, true});
}
template void gram(Index, Index, float, const float*, Index, float, float*, Index);
template void gram(Index, Index, double, const double*, Index, double, double*, Index);

template <Real T>
void subtract_own_product(Index n, Index k, const T* A, Index lda, T* C, Index ldc) {
  multiply<T>({false, true, n, n, k, T(-1), A, lda, A, lda, T(1), C, ldc, true});
}
template void subtract_own_product(Index, Index, const float*, Index, float*, Index);
template void subtract_own_product(Index, Index, const double*, Index, double*, Index);

}  // namespace carmina::backend
