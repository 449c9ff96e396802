// kernels/mixture_kernel.hpp -- spectral mixtures, and one of them as a scalar kernel.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>
#include <memory>
#include <string>
#include <variant>

namespace carmina {

// Spectral mixtures: kernels whose spectral measure is a weighted sum of location-scale families.
//
//   k(delta) = sum_q w_q cos(2 pi <mu_q, delta>) prod_j chi(2 pi sigma_qj delta_j)      (mathematics.md 3a)
//
// mu and sigma are in cycles. chi is the characteristic function of the family's standard member: exp(-t^2/2) of the
// Gaussian, 1/(1 + t^2) of Laplace's. Frequencies are s = g(mu, sigma, eps) = mu + sigma eps, so that a derivative by s
// is one by the parameters [Jung2019, Sec. 3.2].

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

// How many spectral points each component of a mixture gets.
enum class Allocation { equal, softmax, optimal };
Allocation parse_allocation(const std::string& name);  // Error for an unknown one
std::string allocation_name(Allocation allocation);

// A spectral mixture as one of the scalar kernels.
//
// It is a function of x - z, but of no scaled distance: it supplies values of pairs of rows, as the kernels of
// pairwise.hpp do, and beside them draws from its spectral measure and the second derivatives that curl-free and
// divergence-free kernels are made of.

// k(delta) / k(0), for everything that stands on a scalar kernel takes k(0) = 1; k(0) = sum_q w_q is the weight of a
// term made of it (own_weight), so that Kernel(SpectralMixture(...)) is k itself.
class SpectralMixture {
 public:
  static constexpr const char* name = "spectral_mixture";
  static constexpr bool radial = false;

  explicit SpectralMixture(Mixture mixture);
  SpectralMixture(Vector<double> weights, Matrix<double> means, Matrix<double> scales,
                  const std::string& family = GaussianFamily::name);

  const Mixture& mixture() const { return parts_->given; }
  double total() const { return parts_->given.weights.sum(); }  // k(0)
  Index dim_in() const { return parts_->given.dim_in(); }

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;

  // The i-th draw of an angular frequency 2 pi s: a component by its weight, then s = mu + sigma eps.
  void frequency(const Random& random, Index i, double* out) const;
  // The same as a function of d + 1 uniform numbers, the last for the component.
  void quasi_frequency(const double* u, double* out) const;
  double mean_square_frequency() const;  // E|2 pi s|^2

  // out (d, d) = -(second derivatives of k / k(0)) at delta: the curl-free kernel (mathematics.md 4).
  void negative_hessian(const double* delta, double* out) const;

  bool operator==(const SpectralMixture& other) const;

 private:
  struct Parts {
    Mixture given, unit;        // unit: its weights sum to 1
    Vector<double> cumulative;  // of the unit weights
  };
  Index component(double u) const;

  std::shared_ptr<const Parts> parts_;
};

}  // namespace carmina
