// backends/cpu/vector_math_loops.hpp -- the loops of vector_math.hpp over any vector type; one instance per
// instruction set. A last partial vector goes through a padded copy, so each number gets the same arithmetic.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstring>

namespace carmina::backend {

struct VectorMath {
  void (*sincos_float)(const float*, float, float*, float*, Index);
  void (*sincos_double)(const double*, double, double*, double*, Index);
  void (*exp_float)(float*, float, Index);
  void (*exp_double)(double*, double, Index);
  const char* name;
};

// V gives: Scalar, Register, width, load, store, broadcast, multiply, sincos (into two registers), exp.
template <class V>
void sincos_loop(const typename V::Scalar* x, typename V::Scalar scale, typename V::Scalar* cosine,
                 typename V::Scalar* sine, Index count) {
  const auto factor = V::broadcast(scale);
  const auto one = [&](const typename V::Scalar* from, typename V::Scalar* c, typename V::Scalar* s) {
    typename V::Register sines, cosines;
    V::sincos(V::load(from), sines, cosines);
    V::store(c, V::multiply(factor, cosines));
    V::store(s, V::multiply(factor, sines));
  };
  Index i = 0;
  for (; i + V::width <= count; i += V::width) one(x + i, cosine + i, sine + i);
  if (const Index rest = count - i; rest > 0) {
    typename V::Scalar in[V::width] = {}, c[V::width], s[V::width];
    std::memcpy(in, x + i, static_cast<std::size_t>(rest) * sizeof(in[0]));
    one(in, c, s);
    std::memcpy(cosine + i, c, static_cast<std::size_t>(rest) * sizeof(c[0]));
    std::memcpy(sine + i, s, static_cast<std::size_t>(rest) * sizeof(s[0]));
  }
}

template <class V>
void exp_loop(typename V::Scalar* x, typename V::Scalar scale, Index count) {
  const auto factor = V::broadcast(scale);
  Index i = 0;
  for (; i + V::width <= count; i += V::width) V::store(x + i, V::exp(V::multiply(factor, V::load(x + i))));
  if (const Index rest = count - i; rest > 0) {
    typename V::Scalar in[V::width] = {};
    std::memcpy(in, x + i, static_cast<std::size_t>(rest) * sizeof(in[0]));
    V::store(in, V::exp(V::multiply(factor, V::load(in))));
    std::memcpy(x + i, in, static_cast<std::size_t>(rest) * sizeof(in[0]));
  }
}

template <class Float, class Double>
VectorMath vector_math_of(const char* name) {
  return {sincos_loop<Float>, sincos_loop<Double>, exp_loop<Float>, exp_loop<Double>, name};
}

// Null where the compiler cannot make them.
const VectorMath* avx512_vector_math();
const VectorMath* avx2_vector_math();
const VectorMath* portable_vector_math();

}  // namespace carmina::backend
