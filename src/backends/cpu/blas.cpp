// backends/cpu/blas.cpp -- eigendecompositions by LAPACK, which comes with OpenBLAS.
#include "backends/blas.hpp"
#include "backends/cpu/openblas.hpp"
#include "backends/vector_math.hpp"

#include <string>
#include <vector>

extern "C" {
void BLAS(dstedc_)(const char*, const int*, double*, double*, double*, const int*, double*, const int*, int*,
                   const int*, int*);
void BLAS(dlatrd_)(const char*, const int*, const int*, double*, const int*, double*, double*, double*, const int*);
void BLAS(dsytd2_)(const char*, const int*, double*, const int*, double*, double*, double*, int*);
void BLAS(dormtr_)(const char*, const char*, const char*, const int*, const int*, const double*, const int*,
                   const double*, double*, const int*, double*, const int*, int*);
void BLAS(dsterf_)(const int*, double*, double*, int*);
}

namespace carmina::backend {

// The configuration begins with name and version: "OpenBLAS 0.3.30 DYNAMIC_ARCH ...".
std::string blas_name() {
  const std::string config = BLAS(openblas_get_config)();
  const auto end = config.find(' ', config.find(' ') + 1);
  return format_text("{}, kernels for {}", config.substr(0, end), BLAS(openblas_get_corename)());
}

void reduce_last_rows(Index n, Index count, double* A, Index lda, double* off_diagonal, double* scales, double* W) {
  const Serial serial;
  const int order = to_int(n), columns = to_int(count), stride = to_int(lda);
  BLAS(dlatrd_)("U", &order, &columns, A, &stride, off_diagonal, scales, W, &order);
}

void reduce_all_rows(Index n, double* A, Index lda, double* diagonal, double* off_diagonal, double* scales) {
  const Serial serial;
  const int order = to_int(n), stride = to_int(lda);
  int info = 0;
  BLAS(dsytd2_)("U", &order, A, &stride, diagonal, off_diagonal, scales, &info);
}

// Row-major X is LAPACK's Xᵀ: QᵀX is Xᵀ Q, and Q X is XᵀQᵀ.
void apply_reflectors(Transpose transpose, Index n, Index m, const double* Q, Index lda, const double* scales,
                      double* X, Index ldx) {
  const Serial serial;
  if (n == 0 || m == 0) return;
  const char* side = transpose == Transpose::yes ? "N" : "T";
  const int order = to_int(n), columns = to_int(m), stride = to_int(lda), x_stride = to_int(ldx), query = -1;
  int info = 0;
  double work_size = 0;
  BLAS(dormtr_)("R", "U", side, &columns, &order, Q, &stride, scales, X, &x_stride, &work_size, &query, &info);
  std::vector<double> work(static_cast<std::size_t>(work_size));
  const int work_count = static_cast<int>(work.size());
  BLAS(dormtr_)("R", "U", side, &columns, &order, Q, &stride, scales, X, &x_stride, work.data(), &work_count, &info);
}

// Rows of X are LAPACK's columns: Q times each.
void multiply_rows_by_reflectors(Index m, Index n, const double* Q, Index lda, const double* scales, double* X,
                                 Index ldx) {
  const Serial serial;
  const int order = to_int(n), columns = to_int(m), stride = to_int(lda), x_stride = to_int(ldx), query = -1;
  int info = 0;
  double work_size = 0;
  BLAS(dormtr_)("L", "U", "N", &order, &columns, Q, &stride, scales, X, &x_stride, &work_size, &query, &info);
  std::vector<double> work(static_cast<std::size_t>(work_size));
  const int work_count = static_cast<int>(work.size());
  BLAS(dormtr_)("L", "U", "N", &order, &columns, Q, &stride, scales, X, &x_stride, work.data(), &work_count, &info);
}

void tridiagonal_eigenvectors(Index n, double* diagonal, double* off_diagonal, double* vectors) {
  require(n <= 46000, "an eigendecomposition of order {} is beyond LAPACK's workspace (46000)", n);
  const Serial serial;
  const int order = to_int(n), query = -1;
  int info = 0, iwork_size = 0;
  double work_size = 0;
  BLAS(dstedc_)("I", &order, diagonal, off_diagonal, vectors, &order, &work_size, &query, &iwork_size, &query, &info);
  std::vector<double> work(static_cast<std::size_t>(work_size));
  std::vector<int> iwork(static_cast<std::size_t>(iwork_size));
  const int work_count = static_cast<int>(work.size());
  BLAS(dstedc_)("I", &order, diagonal, off_diagonal, vectors, &order, work.data(), &work_count, iwork.data(),
                &iwork_size, &info);
  require(info == 0, "the eigenvalues of a symmetric {} x {} matrix did not converge; does it hold NaN?", n, n);
}

void tridiagonal_eigenvalues(Index n, double* diagonal, double* off_diagonal) {
  const Serial serial;
  const int order = to_int(n);
  int info = 0;
  BLAS(dsterf_)(&order, diagonal, off_diagonal, &info);
  require(info == 0, "the eigenvalues of a tridiagonal matrix of order {} did not converge; does it hold NaN?", n);
}

}  // namespace carmina::backend
