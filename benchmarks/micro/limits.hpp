// micro/limits.hpp -- what the machine itself can do: the yardstick of every primitive, measured in the same
// run.
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina::micro {

// What a primitive cannot do without. Counted by hand in each file, never by its implementation.
struct Work {
  double flops = 0;         // of matrix products; a product of orders m, n, k counts 2 m n k
  double sincos = 0;        // sine and cosine of one number
  double exponentials = 0;  // of one number
  double bytes = 0;         // that must be written to memory
  bool overlap = false;     // the limit is the slowest of these alone, else arithmetic adds up
};

// Per second, on all threads of the run.
template <Real T>
class Limits {
 public:
  Limits(Index gemm_order, int threads);

  double gemm();       // flops of a square product
  double sincos();     // of numbers in cache
  double exp();        // of numbers in cache
  double bandwidth();  // bytes of the triad a = b + s c, arrays far beyond the caches
  double writing();    // bytes of a = s, an array far beyond the caches

  // Seconds that the work would take at these rates, each measured now if the work has any of it. Arithmetic
  // shares the cores and adds up; memory works beside it.
  double seconds(const Work& work);

 private:
  int threads_;
  Matrix<T> A_, B_, C_;
};

}  // namespace carmina::micro
