// models/posterior.hpp -- how uncertain the predictions of a squared-loss fit are.
#pragma once
#include <carmina/models/derived.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <vector>

namespace carmina {

// The fit is the posterior mean of a Gaussian process with the machine's kernel (or its Fourier approximation) times
// s / alpha, noise of variance s / weight, and a flat prior on the intercept, whatever s is. The fit does not depend on
// s; the record holds an estimate of it for each output, `noise`, from the errors of rows left out (mathematics.md 1h).
// This is the covariance of predictions:
//
// Fourier, theta's posterior covariance s (PhiᵀW Phi + alpha I)^-1:
//   cov f(x) = s Phi(x)* (PhiᵀW Phi + alpha I)^-1 Phi(x), features and sums about their mean, plus s / sum w for the
//   intercept.
// Exact, with M = K + alpha W^-1 and E the intercept's columns (ones, for each output), times s / alpha:
//   cov f(x) = K(x, x) - k M^-1 kᵀ + (I - Eᵀ M^-1 kᵀ)ᵀ (Eᵀ M^-1 E)^-1 (I - Eᵀ M^-1 kᵀ).
// Of outputs a and b s is sqrt(noise_a noise_b).
//
// Where targets are missing, the rows are those that have an output; outputs that no coupling joins are independent.
// Intervals of all outputs jointly are then those of a bound: each output has its share of the rest, by its own rows.
template <Real T>
class Posterior {
 public:
  // Factors what it needs once. Error when a Fourier machine holds no sums (keep_moments), the noise is not known or
  // alpha is 0.
  explicit Posterior(const KernelMachine<T>& machine, const Execution& execution = {});
  ~Posterior();
  Posterior(Posterior&&) noexcept;

  // Of a new observation at each row, the noise included. (n, p p), row i the p x p matrix of row i.
  Matrix<double> covariance(ConstView<T> X, const Execution& execution = {}) const;
  // Square roots of their diagonals: (n, p).
  Matrix<double> deviation(ConstView<T> X, const Execution& execution = {}) const;
  // Of what each term of a sum kernel contributes, the intercept and the noise apart: (n, p) for each term. Parts are
  // not independent: their variances do not add up to that of f.
  std::vector<Matrix<double>> part_deviations(ConstView<T> X, const Execution& execution = {}) const;
  // Of what derive() gives, which is linear in f: no noise, and no intercept. A potential and a stream function are of
  // all outputs together: s is then the mean of their noises.
  Matrix<double> derived_deviation(Derived what, ConstView<T> X, const Execution& execution = {}) const;
  // f(x) -+ q deviation: (n, 2 p), the low end and the high end of each output. q is the quantile of the errors of rows
  // left out over their deviations, of the next larger level of interval_levels(); infinite where the rows are too few.
  // `joint`: one q for all outputs, by the largest of a row's errors, so that all outputs together are covered.
  Matrix<double> interval(ConstView<T> X, double coverage, bool joint = false, const Execution& execution = {}) const;
  // Functions drawn from the posterior, without noise, at all rows together: (n, p) each. Draw k of a seed is the same
  // however many there are. Of a machine with features a draw is one function, whatever rows it is asked at, and costs
  // as much as a prediction; of an exact one it takes the eigenvectors of the covariance of all rows, O(n^3).
  std::vector<Matrix<double>> sample(ConstView<T> X, Index draws, std::uint64_t seed,
                                     const Execution& execution = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Levels of the quantiles that a model keeps: hundredths up to 0.9, thousandths to 0.99, ten-thousandths to 0.9999.
const std::vector<double>& interval_levels();
// The row of FitRecord::left_out for a coverage. Error when it is not between 0 and the last level.
std::size_t interval_level(double coverage);

// Why a model's deviations, or intervals, are not known; empty: they are.
std::string why_no_deviation(const FitRecord& record);
std::string why_no_interval(const FitRecord& record);

}  // namespace carmina
