// core/eigen_instances.hpp -- the large templates of Eigen that many sources use, compiled once (eigen_instances.cpp)
// instead of in each of them. Part of the precompiled header of our own sources, and of nothing that is installed:
// their arguments depend on the instruction set that the including file is compiled for.
#pragma once
#include <carmina/core/eigen_resize.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>

// A product's inner loops, its packing of both sides, and the product with a vector. These are out-of-line in Eigen, so
// that nothing which could be inlined is lost.
#define CARMINA_EIGEN_PRODUCTS(KEYWORD, T)                                                                           \
  KEYWORD template struct gebp_kernel<T, T, Index, blas_data_mapper<T, Index, ColMajor, Unaligned, 1>,               \
                                      gebp_traits<T, T>::mr, gebp_traits<T, T>::nr, false, false>;                   \
  KEYWORD template struct gemm_pack_lhs<T, Index, const_blas_data_mapper<T, Index, ColMajor>, gebp_traits<T, T>::mr, \
                                        gebp_traits<T, T>::LhsProgress, gebp_traits<T, T>::LhsPacket4Packing,        \
                                        ColMajor>;                                                                   \
  KEYWORD template struct gemm_pack_lhs<T, Index, const_blas_data_mapper<T, Index, RowMajor>, gebp_traits<T, T>::mr, \
                                        gebp_traits<T, T>::LhsProgress, gebp_traits<T, T>::LhsPacket4Packing,        \
                                        RowMajor>;                                                                   \
  KEYWORD template struct gemm_pack_rhs<T, Index, const_blas_data_mapper<T, Index, ColMajor>, gebp_traits<T, T>::nr, \
                                        ColMajor>;                                                                   \
  KEYWORD template struct general_matrix_vector_product<Index, T, const_blas_data_mapper<T, Index, ColMajor>,        \
                                                        ColMajor, false, T,                                          \
                                                        const_blas_data_mapper<T, Index, RowMajor>, false>;          \
  KEYWORD template struct general_matrix_vector_product<Index, T, const_blas_data_mapper<T, Index, RowMajor>,        \
                                                        RowMajor, false, T,                                          \
                                                        const_blas_data_mapper<T, Index, ColMajor>, false>;

#define CARMINA_EIGEN_DECOMPOSITIONS(KEYWORD, M)                                                            \
  KEYWORD template SelfAdjointEigenSolver<M>& SelfAdjointEigenSolver<M>::compute(const EigenBase<M>&, int); \
  KEYWORD template LLT<M, Lower>& LLT<M, Lower>::compute(const EigenBase<M>&);                              \
  KEYWORD template LDLT<M, Lower>& LDLT<M, Lower>::compute(const EigenBase<M>&);                            \
  KEYWORD template void PartialPivLU<M>::compute();

namespace Eigen {
namespace internal {
CARMINA_EIGEN_PRODUCTS(extern, double)
CARMINA_EIGEN_PRODUCTS(extern, float)
}  // namespace internal
using CarminaRowMajor = Matrix<double, Dynamic, Dynamic, RowMajor>;
CARMINA_EIGEN_DECOMPOSITIONS(extern, MatrixXd)
CARMINA_EIGEN_DECOMPOSITIONS(extern, CarminaRowMajor)
}  // namespace Eigen
