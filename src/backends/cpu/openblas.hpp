// backends/cpu/openblas.hpp -- how OpenBLAS is called: its names, its integers, one thread.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>

#include <cblas.h>

// The OpenBLAS that comes as a Python package has a prefix before every name.
#ifdef CARMINA_PACKAGED_BLAS
#define BLAS(name) scipy_##name
#else
#define BLAS(name) name
// From the OpenMP runtime that OpenBLAS is built on: a setting of the calling thread, read by each BLAS call.
extern "C" {
void omp_set_num_threads(int);
int omp_get_max_threads(void);
}
#endif

namespace carmina::backend {

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

inline blasint to_int(Index i) {
  require(i <= 2147483647, "a matrix dimension of {} is beyond what BLAS can index", i);
  return static_cast<blasint>(i);
}

}  // namespace carmina::backend
