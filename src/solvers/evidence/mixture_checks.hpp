// solvers/evidence/mixture_checks.hpp -- what the Gaussian processes with a mixture kernel ask of their arguments, and
// share.
#pragma once
#include "solvers/evidence/mixture_processes.hpp"

#include <cmath>

namespace carmina {

inline void check_process(const char* place, const Mixture& mixture, double noise, ConstView<double> X,
                          ConstView<double> Y) {
  mixture.check();
  require(noise > 0 && std::isfinite(noise), "{}: the noise variance must be positive and finite, found {}", place,
          noise);
  require(X.rows() > 0 && X.rows() == Y.rows(), "{}: Y has {} rows, X has {}", place, Y.rows(), X.rows());
  require(X.cols() == mixture.dim_in(), "{}: the mixture has {} input dimensions, X has {} columns", place,
          mixture.dim_in(), X.cols());
  require(Y.cols() > 0, "{}: Y has no columns", place);
  require(X.allFinite() && Y.allFinite(), "{}: X and Y must be finite, found NaN or infinity", place);
}

inline Mixture zero_like(const Mixture& mixture) {
  const Index Q = mixture.size(), d = mixture.dim_in();
  return {Vector<double>::Zero(Q), Matrix<double>::Zero(Q, d), Matrix<double>::Zero(Q, d), mixture.family};
}

}  // namespace carmina
