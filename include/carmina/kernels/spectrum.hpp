// kernels/spectrum.hpp -- kernels given by their spectral measure: frequencies w ~ mu, and a factor B(w) for each.
//
// K(x, z) = E_mu[cos<w, x - z> A(w)] with A = B Bᵀ: [Brault2016, Prop. 2.4], real form. Whoever has a mu and a B(w) has
// a kernel, even where K has no closed form.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>
#include <functional>
#include <memory>

namespace carmina {

// What a term of a kernel needs of it. Functions may be called from any thread, one call at a time for each thread.
class Spectrum {
 public:
  virtual ~Spectrum() = default;
  virtual Index dim_out() const = 0;              // p
  virtual void check_inputs(Index dim_in) const;  // Error when it is for other inputs; by default it takes any

  // (count, dim_in), draws from mu that depend on nothing else. A larger map begins with a smaller one's frequencies
  // where row i depends on (random, i) alone.
  virtual Matrix<double> sample(Index count, Index dim_in, const Random& random) const = 0;
  // B of each row of W, one below the other: (count p, p').
  virtual Matrix<double> factors(const Matrix<double>& W) const = 0;

  // K_0(delta) for each row of deltas, (n, p p), where it is known.
  virtual bool has_values() const { return false; }
  virtual Matrix<double> values(const Matrix<double>& deltas) const;

  virtual bool equals(const Spectrum& other) const { return this == &other; }
};

// The same, with the shapes and numbers of the results checked.
Matrix<double> checked_frequencies(const Spectrum& spectrum, Index count, Index dim_in, const Random& random);
Matrix<double> checked_factors(const Spectrum& spectrum, const Matrix<double>& W);
Matrix<double> checked_values(const Spectrum& spectrum, const Matrix<double>& deltas);

// A spectrum in the place of a scalar kernel and its coupling; shared by copies.
class UserSpectrum {
 public:
  static constexpr const char* name = "spectral";
  explicit UserSpectrum(std::shared_ptr<const Spectrum> spectrum);
  const Spectrum& operator*() const { return *spectrum_; }
  const Spectrum* operator->() const { return spectrum_.get(); }
  bool operator==(const UserSpectrum& other) const {
    return spectrum_ == other.spectrum_ || spectrum_->equals(*other.spectrum_);
  }

 private:
  std::shared_ptr<const Spectrum> spectrum_;
};

using FrequencySampler = std::function<Vector<double>(const Random& random, Index i, Index dim_in)>;  // w_i (d)
using FrequencyFactor = std::function<Matrix<double>(const Vector<double>& w)>;                       // B(w) (p, p')

// From two functions. The i-th frequency takes its random numbers from indices (i, 0), (i, 1), ... of the stream.
std::shared_ptr<const Spectrum> make_spectrum(FrequencySampler sampler, FrequencyFactor factor, Index dim_out);

}  // namespace carmina
