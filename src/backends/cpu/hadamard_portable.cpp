// backends/cpu/hadamard_portable.cpp -- the Walsh-Hadamard transform for any machine, one number at a time.
#include "backends/cpu/hadamard_loops.hpp"

namespace carmina::backend {
namespace {

template <class T>
struct One {
  using Scalar = T;
  using Register = T;
  static constexpr Index width = 1;
  static T load(const T* x) { return *x; }
  static void store(T* x, T r) { *x = r; }
  static T add(T a, T b) { return a + b; }
  static T subtract(T a, T b) { return a - b; }
  static T multiply(T a, T b) { return a * b; }
  static T transform(T r) { return r; }
};

}  // namespace

const HadamardTable* portable_hadamard() {
  static const HadamardTable table = {hadamard_loop<One<float>>, hadamard_loop<One<double>>};
  return &table;
}

}  // namespace carmina::backend
