// models/posterior.hpp -- how uncertain the predictions of a squared-loss fit are.
#pragma once
#include <carmina/models/kernel_machine.hpp>

namespace carmina {

// The fit is the posterior mean of a Gaussian process with the machine's kernel (or its Fourier approximation), noise
// variance alpha / weight, and a flat prior on the intercept. This is its covariance.
//
// Fourier, theta's posterior covariance alpha (PhiᵀW Phi + alpha I)^-1:
//   cov f(x) = alpha Phi(x)* (PhiᵀW Phi + alpha I)^-1 Phi(x), features and sums about their mean, plus alpha / sum w
//   for the intercept.
// Exact, with M = K + alpha W^-1 and E the intercept's columns (ones, for each output):
//   cov f(x) = K(x, x) - k M^-1 kᵀ + (I - Eᵀ M^-1 kᵀ)ᵀ (Eᵀ M^-1 E)^-1 (I - Eᵀ M^-1 kᵀ).
template <Real T>
class Posterior {
 public:
  // Factors what it needs once. Error when a Fourier machine was fitted without keep_moments, or alpha is 0.
  explicit Posterior(const KernelMachine<T>& machine, const Execution& execution = {});
  ~Posterior();
  Posterior(Posterior&&) noexcept;

  // Of a new observation at each row: noise variance alpha included. (n, p p), row i the p x p matrix of row i.
  Matrix<double> covariance(ConstView<T> X, const Execution& execution = {}) const;
  // Square roots of their diagonals: (n, p).
  Matrix<double> deviation(ConstView<T> X, const Execution& execution = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carmina
