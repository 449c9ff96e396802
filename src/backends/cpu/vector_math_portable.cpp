// backends/cpu/vector_math_portable.cpp -- vector math for any machine: the standard library, one number at a time;
// products of matrices on the 16 bytes that nearly every processor has registers for.
#include "backends/cpu/vector_math_loops.hpp"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

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
  static void stream(T* x, T r) { *x = r; }
  static void fence() {}
  static T broadcast(T x) { return x; }
  static T add(T a, T b) { return a + b; }
  static T subtract(T a, T b) { return a - b; }
  static T maximum(T a, T b) { return a > b ? a : b; }
  static T multiply(T a, T b) { return a * b; }
  static T multiply_add(T a, T b, T c) { return a * b + c; }
  static T round(T a) { return std::nearbyint(a); }
  // The last bits of `shifted` are those of q (elementary.hpp).
  static void turn(T shifted, T s, T c, T& sine, T& cosine) {
    const auto q = last_bits(shifted);
    sine = q & 1 ? c : s;
    cosine = q & 1 ? s : c;
    if (q & 2) sine = -sine;
    if ((q + 1) & 2) cosine = -cosine;
  }
  static T negate_odd(T shifted, T value) { return last_bits(shifted) & 1 ? -value : value; }
  static std::uint64_t last_bits(T shifted) {
    if constexpr (std::same_as<T, float>) {
      return std::bit_cast<std::uint32_t>(shifted);
    } else {
      return std::bit_cast<std::uint64_t>(shifted);
    }
  }
  static T sum(T r) { return r; }
  static T exp(T x) { return std::exp(x); }
  static bool near(T) { return true; }
  static void sincos(T x, T& sine, T& cosine) { sincos_far(x, sine, cosine); }
  static void sincos_far(T x, T& sine, T& cosine) {
    sine = std::sin(x);
    cosine = std::cos(x);
  }
};

// What products ask for.
template <class T>
struct Wide {
  using Scalar = T;
  using Register [[gnu::vector_size(16)]] = T;
  static constexpr int registers = 16;
  static constexpr Index width = 16 / sizeof(T);
  static Register load(const T* x) {
    Register r;
    std::memcpy(&r, x, sizeof(r));
    return r;
  }
  static void store(T* x, Register r) { std::memcpy(x, &r, sizeof(r)); }
  static Register broadcast(T x) { return x - Register{}; }
  static Register multiply(Register a, Register b) { return a * b; }
  static Register multiply_add(Register a, Register b, Register c) { return a * b + c; }
  static T sum(Register r) {
    T total = 0;
    for (Index i = 0; i < width; ++i) total += r[i];
    return total;
  }
};

}  // namespace

const VectorMath* portable_vector_math() {
  static const VectorMath table = vector_math_of<One<float>, One<double>, Wide<float>, Wide<double>>("portable");
  return &table;
}

}  // namespace carmina::backend
