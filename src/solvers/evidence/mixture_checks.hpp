// solvers/evidence/mixture_checks.hpp -- what the Gaussian processes with a mixture kernel ask of their arguments, and
// share.
#pragma once
#include "solvers/evidence/mixture_processes.hpp"

#include <cmath>
#include <numbers>

namespace carmina {

inline void check_process(const char* place, const Mixture& mixture, double noise, ConstView<double> X,
                          ConstView<double> Y, const Vector<double>& weights) {
  mixture.check();
  require(noise > 0 && std::isfinite(noise), "{}: the noise variance must be positive and finite, found {}", place,
          noise);
  require(X.rows() > 0 && X.rows() == Y.rows(), "{}: Y has {} rows, X has {}", place, Y.rows(), X.rows());
  require(X.cols() == mixture.dim_in(), "{}: the mixture has {} input dimensions, X has {} columns", place,
          mixture.dim_in(), X.cols());
  require(Y.cols() > 0, "{}: Y has no columns", place);
  require(X.allFinite() && Y.allFinite(), "{}: X and Y must be finite, found NaN or infinity", place);
  require(weights.size() == 0 || (weights.size() == X.rows() && weights.allFinite() && (weights.array() > 0).all()),
          "{}: a positive, finite weight for each of the {} rows is expected", place, X.rows());
}

// log of what w factors N(y | f, s) of each row have beside N(y | f, s / w), for p outputs:
// -(w - 1) / 2 log(2 pi s) - log(w) / 2.
inline double repetition_constant(const Vector<double>& weights, double s, double p) {
  if (weights.size() == 0) return 0;
  return -p / 2 * ((weights.array() - 1).sum() * std::log(2 * std::numbers::pi * s) + weights.array().log().sum());
}

inline Mixture zero_like(const Mixture& mixture) {
  const Index Q = mixture.size(), d = mixture.dim_in();
  return {Vector<double>::Zero(Q), Matrix<double>::Zero(Q, d), Matrix<double>::Zero(Q, d), mixture.family};
}

}  // namespace carmina
