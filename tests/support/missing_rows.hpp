// tests/support/missing_rows.hpp -- rows some of whose targets are missing, and options of a small fit to them.
#pragma once
#include <carmina/models/fit_options.hpp>

#include <limits>
#include <string>

#include "support/given_numbers.hpp"
#include "support/random_matrix.hpp"

namespace carmina::testing {

enum class Gaps { at_random, blocks };

template <Real T>
struct Rows {
  Matrix<T> X, Y;
  Vector<T> w;

  Rows(Index n, Index d, Index p, Gaps gaps, std::uint64_t seed) {
    X = random_matrix<T>(n, d, seed);
    Y = (X * random_matrix<T>(d, p, seed + 1)).array().sin() + T(0.2) * random_matrix<T>(n, p, seed + 2).array() + T(2);
    w = random_matrix<T>(n, 1, seed + 3).cwiseAbs().array() + T(0.1);
    w[n / 2] = 0;
    const Matrix<double> u = random_matrix(n, p, seed + 4);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < p; ++j) {
        const bool gone = gaps == Gaps::at_random ? u(i, j) > 0.4 : (i / 5 + j) % 3 == 0;
        if (gone) Y(i, j) = std::numeric_limits<T>::quiet_NaN();
      }
    }
    Y.row(n / 3).setConstant(std::numeric_limits<T>::quiet_NaN());
  }
};

inline FitOptions small_fit(const std::string& approximation, const Loss& loss = {}, bool coupled = false) {
  FitOptions options = given_numbers();
  options.approximation = approximation;
  options.n_components = 12;
  options.length_scale = 1.5;
  options.alpha = 0.3;
  options.loss = loss;
  if (coupled) options.coupling = OutputMatrix(random_psd(3, 2, 3));
  return options;
}

}  // namespace carmina::testing
