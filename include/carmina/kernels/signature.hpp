// kernels/signature.hpp -- the spectrum of a kernel that is known by its signature K_0 alone, computed on a grid.
//
// The three steps of [Brault2016, Section 2.2], done numerically for d <= 3: C(w) = (2 pi)^-d int K_0 cos<w, delta>
// by quadrature (the factor is missing in print); mu, whose density q is tr C over cells of frequencies, and A = C / q;
// B from the eigenvalues of A.
#pragma once
#include <carmina/kernels/spectrum.hpp>
#include <functional>
#include <vector>

namespace carmina {

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
