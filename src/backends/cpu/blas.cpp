// backends/cpu/blas.cpp -- calls into OpenBLAS.
#include "backends/blas.hpp"

#include <carmina/core/error.hpp>

#include <cblas.h>

#include <vector>

// The OpenBLAS that comes as a Python package has a prefix before every name.
#ifdef CARMINA_PACKAGED_BLAS
#define BLAS(name) scipy_##name
#else
#define BLAS(name) name
#endif

extern "C" {
void BLAS(dpotrf_)(const char*, const int*, double*, const int*, int*);
void BLAS(spotrf_)(const char*, const int*, float*, const int*, int*);
void BLAS(dstedc_)(const char*, const int*, double*, double*, double*, const int*, double*, const int*, int*,
                   const int*, int*);
void BLAS(dlatrd_)(const char*, const int*, const int*, double*, const int*, double*, double*, double*, const int*);
void BLAS(dsytd2_)(const char*, const int*, double*, const int*, double*, double*, double*, int*);
void BLAS(dormtr_)(const char*, const char*, const char*, const int*, const int*, const double*, const int*,
                   const double*, double*, const int*, double*, const int*, int*);
void BLAS(dsterf_)(const int*, double*, double*, int*);

#ifndef CARMINA_PACKAGED_BLAS
// From the OpenMP runtime that OpenBLAS is built on: a setting of the calling thread, read by each BLAS call.
void omp_set_num_threads(int);
int omp_get_max_threads(void);
#endif
}

namespace carmina::backend {
namespace {

CBLAS_TRANSPOSE cblas(Transpose t) { return t == Transpose::yes ? CblasTrans : CblasNoTrans; }

// BLAS runs in the calling thread: threads of its own would make sums depend on their number, and they spin while they
// wait, which on a busy machine takes the processor from those that work.
#ifdef CARMINA_PACKAGED_BLAS
struct Serial {
  Serial() {
    static const bool once = (scipy_openblas_set_num_threads(1), true);  // of a library that nobody else calls
    static_cast<void>(once);
  }
};
#else
class Serial {
 public:
  Serial() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~Serial() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  Serial(const Serial&) = delete;
  Serial& operator=(const Serial&) = delete;

 private:
  int before_;
};
#endif

blasint to_int(Index i) {
  require(i <= 2147483647, "a matrix dimension of {} is beyond what BLAS can index", i);
  return static_cast<blasint>(i);
}

}  // namespace

// The configuration begins with name and version: "OpenBLAS 0.3.30 DYNAMIC_ARCH ...".
std::string blas_name() {
  const std::string config = BLAS(openblas_get_config)();
  const auto end = config.find(' ', config.find(' ') + 1);
  return format_text("{}, kernels for {}", config.substr(0, end), BLAS(openblas_get_corename)());
}

template <>
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, float alpha, const float* A, Index lda, const float* B,
          Index ldb, float beta, float* C, Index ldc) {
  const Serial serial;
  if (m == 0 || n == 0) return;
  BLAS(cblas_sgemm)(CblasRowMajor, cblas(ta), cblas(tb), to_int(m), to_int(n), to_int(k), alpha, A, to_int(lda), B,
                    to_int(ldb), beta, C, to_int(ldc));
}
template <>
void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, double alpha, const double* A, Index lda,
          const double* B, Index ldb, double beta, double* C, Index ldc) {
  const Serial serial;
  if (m == 0 || n == 0) return;
  BLAS(cblas_dgemm)(CblasRowMajor, cblas(ta), cblas(tb), to_int(m), to_int(n), to_int(k), alpha, A, to_int(lda), B,
                    to_int(ldb), beta, C, to_int(ldc));
}

template <>
void gram(Index n, Index k, float alpha, const float* A, Index lda, float beta, float* C, Index ldc) {
  const Serial serial;
  BLAS(cblas_ssyrk)(CblasRowMajor, CblasLower, CblasTrans, to_int(n), to_int(k), alpha, A, to_int(lda), beta, C,
                    to_int(ldc));
}
template <>
void gram(Index n, Index k, double alpha, const double* A, Index lda, double beta, double* C, Index ldc) {
  const Serial serial;
  BLAS(cblas_dsyrk)(CblasRowMajor, CblasLower, CblasTrans, to_int(n), to_int(k), alpha, A, to_int(lda), beta, C,
                    to_int(ldc));
}

// A row-major lower triangle is LAPACK's (column-major) upper triangle: A = UᵀU with U = Lᵀ.
bool cholesky(Index n, double* A, Index lda) {
  const Serial serial;
  const int order = to_int(n), stride = to_int(lda);
  int info = 0;
  BLAS(dpotrf_)("U", &order, A, &stride, &info);
  return info == 0;
}

void cholesky_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx) {
  const Serial serial;
  for (const auto side : {CblasNoTrans, CblasTrans}) {
    BLAS(cblas_dtrsm)(CblasRowMajor, CblasLeft, CblasLower, side, CblasNonUnit, to_int(n), to_int(m), 1, L, to_int(lda),
                      X, to_int(ldx));
  }
}

bool cholesky(Index n, float* A, Index lda) {
  const Serial serial;
  const int order = to_int(n), stride = to_int(lda);
  int info = 0;
  BLAS(spotrf_)("U", &order, A, &stride, &info);
  return info == 0;
}

void cholesky_solve(Index n, Index m, const float* L, Index lda, float* X, Index ldx) {
  const Serial serial;
  for (const auto side : {CblasNoTrans, CblasTrans}) {
    BLAS(cblas_strsm)(CblasRowMajor, CblasLeft, CblasLower, side, CblasNonUnit, to_int(n), to_int(m), 1, L, to_int(lda),
                      X, to_int(ldx));
  }
}

void lower_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx) {
  const Serial serial;
  BLAS(cblas_dtrsm)(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, to_int(n), to_int(m), 1, L,
                    to_int(lda), X, to_int(ldx));
}

void lower_transposed_solve(Index n, Index m, const double* L, Index lda, double* X, Index ldx) {
  const Serial serial;
  BLAS(cblas_dtrsm)(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, to_int(n), to_int(m), 1, L,
                    to_int(lda), X, to_int(ldx));
}

void right_solve_transposed(Index m, Index n, const double* L, Index lda, double* X, Index ldx) {
  const Serial serial;
  BLAS(cblas_dtrsm)(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, to_int(m), to_int(n), 1, L,
                    to_int(lda), X, to_int(ldx));
}
void right_solve_transposed(Index m, Index n, const float* L, Index lda, float* X, Index ldx) {
  const Serial serial;
  BLAS(cblas_strsm)(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, to_int(m), to_int(n), 1, L,
                    to_int(lda), X, to_int(ldx));
}

void subtract_own_product(Index n, Index k, const double* A, Index lda, double* C, Index ldc) {
  const Serial serial;
  BLAS(cblas_dsyrk)(CblasRowMajor, CblasLower, CblasNoTrans, to_int(n), to_int(k), -1, A, to_int(lda), 1, C,
                    to_int(ldc));
}
void subtract_own_product(Index n, Index k, const float* A, Index lda, float* C, Index ldc) {
  const Serial serial;
  BLAS(cblas_ssyrk)(CblasRowMajor, CblasLower, CblasNoTrans, to_int(n), to_int(k), -1, A, to_int(lda), 1, C,
                    to_int(ldc));
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
#undef BLAS
