// tests/models/tune_data.hpp -- rows and a small grid that the tests of `tune` share.
#pragma once
#include <carmina/models/tune.hpp>

#include <cmath>

#include "support/given_numbers.hpp"
#include "support/random_matrix.hpp"

namespace carmina::testing {

struct TuneData {
  Index n, p;
  Matrix<double> X, Y;
  Vector<double> w;

  explicit TuneData(Index rows = 61, Index outputs = 2) : n(rows), p(outputs), X(random_matrix(n, 2, 1)), Y(n, p) {
    const Matrix<double> noise = random_matrix(n, p, 2);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < p; ++j) Y(i, j) = std::sin(X(i, 0) + j) * X(i, 1) + 0.3 * noise(i, j) + 5 + j;
    }
    w = random_matrix(n, 1, 3).cwiseAbs().array() + 0.1;
  }
};

inline TuneOptions small_options(const std::string& approximation) {
  TuneOptions options;
  options.fit = given_numbers();
  options.fit.approximation = approximation;
  options.fit.n_components = 20;
  options.fit.seed = 3;
  options.width_factors = {0.5, 1, 3};
  options.alphas = {1e-3, 0.1, 3};
  options.folds = 4;
  return options;
}

}  // namespace carmina::testing
