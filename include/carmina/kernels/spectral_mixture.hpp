// kernels/spectral_mixture.hpp -- a spectral mixture as one of the scalar kernels.
//
// It is a function of x - z, but of no scaled distance: it supplies values of pairs of rows, as the kernels of
// pairwise.hpp do, and beside them draws from its spectral measure and the second derivatives that curl-free and
// divergence-free kernels are made of.
#pragma once
#include <carmina/kernels/mixture.hpp>
#include <memory>

namespace carmina {

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

  // out (d, d) = -(second derivatives of k / k(0)) at delta: the curl-free kernel (SPEC 4).
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
