// tests/models/mixture_data.hpp -- a series of two rhythms, and small mixtures that learn it.
#pragma once
#include <carmina/models/spectral_mixture.hpp>

#include <cmath>
#include <numbers>

#include "support/random_matrix.hpp"

namespace carmina::testing {

struct Series {
  Matrix<double> X, Y;
  explicit Series(Index n) : X(n, 1), Y(n, 1) {
    const Matrix<double> noise = random_matrix(n, 1, 3);
    for (Index i = 0; i < n; ++i) {
      const double t = 0.1 * static_cast<double>(i), turn = 2 * std::numbers::pi;
      X(i, 0) = t;
      Y(i, 0) = 5 + 2 * std::sin(turn * 0.31 * t) + std::cos(turn * 0.83 * t) + 0.2 * noise(i, 0);
    }
  }
};

inline SpectralMixtureOptions small_mixture(Index components, Index steps, Index inducing) {
  SpectralMixtureOptions options;
  options.n_mixtures = 3;
  options.n_components = components;
  options.max_iter = steps;
  options.n_inducing = inducing;
  return options;
}

inline double rmse(const Matrix<double>& a, const Matrix<double>& b) {
  return std::sqrt((a - b).squaredNorm() / static_cast<double>(a.size()));
}

}  // namespace carmina::testing
