// kernels/mixture.hpp -- spectral mixtures: kernels whose spectral measure is a weighted sum of location-scale
// families.
//
//   k(delta) = sum_q w_q cos(2 pi <mu_q, delta>) prod_j chi(2 pi sigma_qj delta_j)      (SPEC 3a)
//
// mu and sigma are in cycles. chi is the characteristic function of the family's standard member: exp(-t^2/2) of the
// Gaussian, 1/(1 + t^2) of Laplace's. Frequencies are s = g(mu, sigma, eps) = mu + sigma eps, so that a derivative by s
// is one by the parameters [Jung2019, Sec. 3.2].
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>
#include <string>
#include <variant>

namespace carmina {

// What a family supplies: its name; the i-th standard draw of a coordinate, from a stream; the frequency it gives for
// some mu and sigma, with its derivative by both; chi and its derivative.
struct FrequencyDerivative {
  double frequency, by_mean, by_scale;
};

struct GaussianFamily {
  static constexpr const char* name = "gaussian";
  double draw(const Random& random, Index i, Index coordinate) const;
  FrequencyDerivative frequency(double mean, double scale, double eps) const { return {mean + scale * eps, 1, eps}; }
  double chi(double t) const;
  double chi_slope(double t) const;  // chi'(t)
  bool operator==(const GaussianFamily&) const = default;
};

struct LaplaceFamily {
  static constexpr const char* name = "laplace";
  double draw(const Random& random, Index i, Index coordinate) const;
  FrequencyDerivative frequency(double mean, double scale, double eps) const { return {mean + scale * eps, 1, eps}; }
  double chi(double t) const;
  double chi_slope(double t) const;
  bool operator==(const LaplaceFamily&) const = default;
};

using MixtureFamily = std::variant<GaussianFamily, LaplaceFamily>;
MixtureFamily make_mixture_family(const std::string& name);  // Error, with what there is, for an unknown one
std::string family_name(const MixtureFamily& family);

// Also the shape of a gradient by these parameters.
struct Mixture {
  Vector<double> weights;        // w (Q), positive
  Matrix<double> means, scales;  // mu, sigma (Q, d), in cycles
  MixtureFamily family;

  Index size() const { return weights.size(); }
  Index dim_in() const { return means.cols(); }
  void check() const;  // Error for shapes that do not fit, weights or scales that are not positive and finite
  bool operator==(const Mixture&) const = default;
};

// out (n, m) = k(x_i - z_j)
void mixture_values(const Mixture& mixture, ConstView<double> X, ConstView<double> Z, View<double> out,
                    const Execution& execution);

// For L with dL/dk(x_i, z_j) = G_ij, G (n, m): dL by the parameters is added to `by_parameters`, whose arrays have the
// mixture's shapes; dL by the rows of X, at fixed Z, to `by_inputs` (n, d) where it is not null.
void mixture_gradient(const Mixture& mixture, ConstView<double> X, ConstView<double> Z, ConstView<double> G,
                      Mixture& by_parameters, Matrix<double>* by_inputs, const Execution& execution);

}  // namespace carmina
