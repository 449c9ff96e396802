// kernels/pairwise.cpp -- values of kernels that are not functions of a difference.
#include "backends/vector_math.hpp"

#include <carmina/kernels/pairwise.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace carmina {
namespace {

// x^degree by repeated squaring, a run of numbers at a time: each step is one vectorised loop.
template <Real T>
void raise(T* x, Index count, int degree) {
  constexpr Index longest = 128;
  std::array<T, longest> square;
  for (Index begin = 0; begin < count; begin += longest, x += longest) {
    const Index run = std::min(longest, count - begin);
    std::copy_n(x, run, square.data());
    std::fill_n(x, run, T(1));
    for (int bits = degree; bits > 0; bits >>= 1) {
      if (bits & 1) {
        for (Index i = 0; i < run; ++i) x[i] *= square[static_cast<std::size_t>(i)];
      }
      for (Index i = 0; bits > 1 && i < run; ++i) {
        square[static_cast<std::size_t>(i)] *= square[static_cast<std::size_t>(i)];
      }
    }
  }
}

}  // namespace

Polynomial::Polynomial(double exponent, double slope, double constant) : gamma(slope), coef0(constant) {
  require(exponent >= 1 && exponent <= 100 && exponent == std::floor(exponent),
          "Polynomial: degree must be an integer from 1 to 100, found {}", exponent);
  degree = static_cast<int>(exponent);
  require(gamma > 0 && std::isfinite(gamma), "Polynomial: gamma must be positive and finite, found {}", gamma);
  require(coef0 >= 0 && std::isfinite(coef0), "Polynomial: coef0 must be finite and not negative, found {}", coef0);
}

template <Real T>
void Polynomial::values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const {
  // Row by row, so that a value does not depend on the rows beside its own, to the bit.
  for (Index i = 0; i < rows; ++i) std::fill_n(out + i * ldo, count, T(0));
  backend::add_product_few(X, d, rows, d, Z, d, count, out, ldo);
  for (Index i = 0; i < rows; ++i) {
    T* const row = out + i * ldo;
    for (Index j = 0; j < count; ++j) row[j] = static_cast<T>(gamma) * row[j] + static_cast<T>(coef0);
    raise(row, count, degree);
  }
}

template <Real T>
void Sobolev1::values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const {
  for (Index i = 0; i < rows; ++i) {
    T* const row = out + i * ldo;
    std::fill_n(row, count, T(1));
    for (Index l = 0; l < d; ++l) {
      const T x = X[i * d + l];
      for (Index j = 0; j < count; ++j) row[j] *= std::min(x, Z[j * d + l]);
    }
  }
}

template <Real T>
void Sobolev1::check_inputs(const T* x, Index size) const {
  const T* const negative = std::find_if(x, x + size, [](T value) { return value < 0; });
  if (negative == x + size) return;
  fail("Sobolev1: inputs must be at least 0, found {}; scaled inputs (scale_inputs, no --no-scale) have a mean of 0",
       *negative);
}

template <Real T>
void Linear::values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const {
  for (Index i = 0; i < rows; ++i) std::fill_n(out + i * ldo, count, T(0));
  backend::add_product_few(X, d, rows, d, Z, d, count, out, ldo);
}

template <Real T>
void Constant::values(const T*, Index rows, const T*, Index count, Index, T* out, Index ldo) const {
  for (Index i = 0; i < rows; ++i) std::fill_n(out + i * ldo, count, T(1));
}

Callable::Callable(Function function, const void* identity)
    : function_(std::make_shared<const Function>(std::move(function))),
      identity_(identity ? identity : function_.get()) {
  require(static_cast<bool>(*function_), "Callable: the function is empty");
}

template <Real T>
void Callable::values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const {
  const Matrix<double> x = map_rows(X, rows, d).template cast<double>(),
                       z = map_rows(Z, count, d).template cast<double>();
  Matrix<double> result(rows, count);
  function()(x, z, result);
  require(result.allFinite(), "Callable: the function gave a value that is NaN or infinite");
  for (Index i = 0; i < rows; ++i) {
    std::transform(result.row(i).begin(), result.row(i).end(), out + i * ldo,
                   [](double k) { return static_cast<T>(k); });
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define CARMINA_INSTANTIATE(T)                                                                \
  template void Polynomial::values(const T*, Index, const T*, Index, Index, T*, Index) const; \
  template void Sobolev1::values(const T*, Index, const T*, Index, Index, T*, Index) const;   \
  template void Sobolev1::check_inputs(const T*, Index) const;                                \
  template void Linear::values(const T*, Index, const T*, Index, Index, T*, Index) const;     \
  template void Constant::values(const T*, Index, const T*, Index, Index, T*, Index) const;   \
  template void Callable::values(const T*, Index, const T*, Index, Index, T*, Index) const;
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace carmina
