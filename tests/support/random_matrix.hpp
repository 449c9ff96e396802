// tests/support/random_matrix.hpp -- random inputs for tests, a function of the seed alone.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>

namespace carmina::testing {

template <class T = double>
Matrix<T> random_matrix(Index rows, Index columns, std::uint64_t seed) {
  const Random random(seed, 77);
  return Matrix<T>::NullaryExpr(rows, columns, [&](Index i, Index j) {
    return static_cast<T>(random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j)));
  });
}

// A random p x p matrix B Bᵀ of the given rank.
inline Matrix<double> random_psd(Index p, Index rank, std::uint64_t seed) {
  const Matrix<double> B = random_matrix(p, rank, seed);
  return B * B.transpose();
}

template <class T>
constexpr double tolerance = std::is_same_v<T, float> ? 2e-4 : 1e-10;

template <class A, class B>
double max_difference(const A& a, const B& b) {
  return (a.template cast<double>() - b.template cast<double>()).cwiseAbs().maxCoeff();
}

}  // namespace carmina::testing
