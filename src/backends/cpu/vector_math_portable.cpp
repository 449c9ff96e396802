// backends/cpu/vector_math_portable.cpp -- vector math for any machine: the standard library, one number at a time.
#include "vector_math_loops.hpp"

#include <cmath>

namespace carmina::backend {
namespace {

template <class T>
struct One {
  using Scalar = T;
  using Register = T;
  static constexpr int registers = 16;
  static constexpr Index width = 1;
  static T load(const T* x) { return *x; }
  static void store(T* x, T r) { *x = r; }
  static T broadcast(T x) { return x; }
  static T add(T a, T b) { return a + b; }
  static T subtract(T a, T b) { return a - b; }
  static T maximum(T a, T b) { return a > b ? a : b; }
  static T multiply(T a, T b) { return a * b; }
  static T multiply_add(T a, T b, T c) { return a * b + c; }
  static T sum(T r) { return r; }
  static T exp(T x) { return std::exp(x); }
  static bool near(T) { return true; }
  static void sincos(T x, T& sine, T& cosine) { sincos_far(x, sine, cosine); }
  static void sincos_far(T x, T& sine, T& cosine) {
    sine = std::sin(x);
    cosine = std::cos(x);
  }
};

}  // namespace

const VectorMath* portable_vector_math() {
  static const VectorMath table = vector_math_of<One<float>, One<double>>("portable");
  return &table;
}

}  // namespace carmina::backend
