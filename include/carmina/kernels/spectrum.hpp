// kernels/spectrum.hpp -- kernels given by their spectral measure or by their values on a grid, and how frequencies are
// drawn.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace carmina {

// How the frequencies of Fourier features are drawn.
// How frequencies are drawn: independently; in blocks of dim_in mutually orthogonal ones (radial kernels only); from
// shifted quasi-random points; or as products of Hadamard and sign matrices (radial kernels only), on which rows are
// projected faster. Each one alone has the kernel's spectral measure, of `hadamard` nearly. `phases`: independently,
// one for each column, which is a cosine with a random phase; for kernels of one term without derivatives.
enum class Sampling { iid, orthogonal, sobol, hadamard, phases };
Sampling parse_sampling(const std::string& name);
std::string sampling_name(Sampling sampling);
std::vector<std::string> sampling_names();

// Kernels given by their spectral measure: frequencies w ~ mu, and a factor B(w) for each.
//
// K(x, z) = E_mu[cos<w, x - z> A(w)] with A = B Bᵀ: [Brault2016, Prop. 2.4], real form. Whoever has a mu and a B(w) has
// a kernel, even where K has no closed form.

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

// The spectrum of a kernel that is known by its signature K_0 alone, computed on a grid.
//
// The three steps of [Brault2016, Section 2.2], done numerically for d <= 3: C(w) = (2 pi)^-d int K_0 cos<w, delta>
// by quadrature (the factor is missing in print); mu, whose density q is tr C over cells of frequencies, and A = C / q;
// B from the eigenvalues of A.

// K_0 at each row of deltas (n, d): (n, p p).
using Signature = std::function<Matrix<double>(const Matrix<double>& deltas)>;

// The grid over [-extent_j, extent_j], `size` points along each input. What is not given is chosen: an extent at which
// K_0 has fallen to 1e-6 of K_0(0), and a size at which K_0 between grid points is known to 1e-4, or the finest that
// fits.
struct SignatureGrid {
  std::vector<double> extent;  // one for all inputs, or one for each; empty: chosen
  Index size = 0;              // made odd; 0: chosen
};

class SignatureSpectrum : public Spectrum {
 public:
  // Error when K_0(-delta) is not K_0(delta)ᵀ, is not symmetric, has not decayed at the edge of the grid, needs a finer
  // grid, or is not positive definite, with the frequency and the eigenvalue that show it.
  SignatureSpectrum(Signature signature, Index dim_in, SignatureGrid grid = {});

  Index dim_out() const override { return p_; }
  void check_inputs(Index dim_in) const override;
  Matrix<double> sample(Index count, Index dim_in, const Random& random) const override;
  Matrix<double> factors(const Matrix<double>& W) const override;
  bool has_values() const override { return true; }
  Matrix<double> values(const Matrix<double>& deltas) const override { return signature_(deltas); }

  const Vector<double>& extent() const { return extent_; }
  Index size() const { return size_; }
  // Largest difference found between K_0 and what the grid makes of it between its points, relative to K_0(0).
  double error() const { return error_; }
  // C(w) of each row of W, (count, p p).
  Matrix<double> density(const Matrix<double>& W) const;

 private:
  void choose_extent();
  void build(Index size);
  double read_values();  // the largest |K_0| at the edge of the grid
  Matrix<double> density_on_grid() const;
  void check_positive(const Matrix<double>& table, double edge);
  void fill_probabilities(const Matrix<double>& table);
  double interpolation_error(const Matrix<double>& table) const;
  Matrix<double> lower_density(const Matrix<double>& W) const;
  Matrix<double> unpacked(const Matrix<double>& lower, Index row) const;
  Index rest() const { return half_.cols() / entries_; }  // points along all inputs but the first
  double step(Index j) const { return 2 * extent_[j] / static_cast<double>(size_ - 1); }
  double frequency_step(Index j) const;
  Index cells() const;                                      // size^d
  Vector<double> point(Index index, bool frequency) const;  // of a grid, by its place in row-major order

  Signature signature_;
  Index d_, p_ = 0, entries_ = 0;  // entries: p (p + 1) / 2, the lower triangle
  double scale_ = 0;               // |K_0(0)|, Frobenius's norm as everywhere here
  Vector<double> extent_;          // (d)
  Index size_ = 0;                 // points along an input, odd
  Matrix<double> half_;            // K_0 where delta_1 >= 0, times the cells' volume: (points, rest entries)
  Vector<double> density_;         // q on cells of frequencies, (size^d)
  Vector<double> summed_;          // the cells' probabilities added up, (size^d)
  double floor_ = 0;               // eigenvalues of C up to it are noise
  double error_ = 0;
};

}  // namespace carmina
