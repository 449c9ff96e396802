// kernels/periodic.hpp -- functions that repeat: a kernel of x - z with lines in the place of a spectral density.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/core/parameter.hpp>
#include <carmina/kernels/stationary.hpp>
#include <carmina/random/philox.hpp>
#include <memory>
#include <tuple>
#include <vector>

namespace carmina {

// k = prod_j exp(-2 sin^2(pi delta_j / T) / l_j^2), T the period. The length scale has no unit: it is about the share
// of a period, divided by pi, over which functions are alike.
//
// With z = 1 / l^2 each factor is exp(-z) exp(z cos(2 pi delta / T)) = sum_n p_n cos(2 pi n delta / T),
// p_n = exp(-z) I_|n|(z): frequencies are 2 pi n / T, n with these probabilities.
class Periodic {
 public:
  static constexpr const char* name = "periodic";
  static constexpr bool radial = false;
  LengthScale length_scale;
  double period;

  explicit Periodic(LengthScale width = 1.0, double turn = 1.0);
  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"period", &Periodic::period, "Period of the periodic kernel, in the unit of its input [1]"}};
  }

  template <Real T>
  void values(const T* X, Index rows, const T* Z, Index count, Index d, T* out, Index ldo) const;

  // The i-th draw of an angular frequency (d), and the same as a function of d uniform numbers.
  void frequency(const Random& random, Index i, Index d, double* out) const;
  void quasi_frequency(const double* u, Index d, double* out) const;

  bool operator==(const Periodic& other) const { return length_scale == other.length_scale && period == other.period; }

 private:
  using Cumulative = std::vector<double>;  // P(|n| <= 0), P(|n| <= 1), ...
  static Cumulative cumulative(double width);
  double harmonic(double u, Index input) const;

  std::shared_ptr<const std::vector<Cumulative>> probabilities_;  // one for each length scale
};

}  // namespace carmina
