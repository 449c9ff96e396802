// solvers/evidence/fourier_evidence.hpp -- the evidence of a Gaussian process made of Fourier features, and its
// gradient by the frequencies themselves, by what each of them contributes to each output, and by the noise.
//
// Frequency j with a complex factor B_j (p, rank) gives output a the 2 rank features
//   c_j Re B_j[a, b] + s_j Im B_j[a, b]   and   s_j Re B_j[a, b] - c_j Im B_j[a, b],   c_j = cos<x, w_j>, s_j = sin<x,
//   w_j>,
// whose inner products are cos<w_j, x - z> Re A_j + sin<w_j, x - z> Im A_j, A_j = B_j B_j* (mathematics.md 4): phases
// between outputs where B_j is complex, B_j = sqrt(w_q / m_q) for one output (mathematics.md 3a). Every kernel with
// Fourier features is of this form, so one routine is enough for spectral mixtures of one or many outputs and for the
// ordinary kernels.
//
// With Psi_a = F E_a the features of output a, noise variances v_a and A = I + sum_a Psi_aᵀ Psi_a / v_a = L Lᵀ,
// beta = A^-1 sum_a Psi_aᵀ y_a / v_a:
//   log p = -1/2 (sum_a |y_a - Psi_a beta|^2 / v_a + |beta|^2) - sum log L_ii - 1/2 sum_a n_a log(2 pi v_a)
//   dlog p / dPsi_a = alpha_a betaᵀ - Psi_a A^-1 / v_a,   alpha_a = (y_a - Psi_a beta) / v_a        (mathematics.md 3b)
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <cstdint>
#include <vector>

namespace carmina {

// Parameters of the features; also the shape of a gradient by them.
struct WeightedFrequencies {
  Matrix<double> W;                // w_j (M, d), in radians
  Matrix<double> real, imaginary;  // B_j (M, p rank), row-major in (p, rank); imaginary empty: zero
  Vector<double> noise;            // v (p)
  // Output a has a process of its own, with factor real(j, a) for frequency j: the evidence is the sum of theirs.
  bool separate = false;

  Index size() const { return W.rows(); }
  Index dim_out() const { return noise.size(); }
  Index rank() const { return separate ? 1 : real.cols() / dim_out(); }
  Index dim_coef() const { return 2 * size() * rank(); }
  WeightedFrequencies zeros() const;  // of the same shape
};

// What predictions need: the posterior of beta is N(beta, A^-1).
struct FourierPosterior {
  double evidence = 0;
  Vector<double> beta;  // (2 M rank)
  Matrix<double> L;     // A = L Lᵀ, lower triangle
};

template <Real T>
class FourierEvidence {
 public:
  // X (n, d), Y (n, p) with NaN where a target is missing; weights (n) or null: repetitions of a row.
  FourierEvidence(ConstView<T> X, ConstView<T> Y, const T* weights = nullptr);

  Index dim_in() const { return dim_in_; }
  Index dim_out() const { return dim_out_; }

  // log p at these parameters; -infinity where they are out of range or rounding leaves no answer. The gradient, by the
  // entries of WeightedFrequencies themselves, where it is not null. Rows are passed over twice, O(n M^2) each; never
  // more than a block of features is held, except when there are fewer targets than features: then the matrix of
  // targets by targets is factored.
  double operator()(const WeightedFrequencies& at, WeightedFrequencies* gradient, const Execution& execution) const;

  // Not for separate outputs.
  FourierPosterior posterior(const WeightedFrequencies& at, const Execution& execution) const;

  // The two ways, which agree; the call above takes the cheaper one.
  double by_features(const WeightedFrequencies& at, WeightedFrequencies* gradient, const Execution& execution,
                     FourierPosterior* posterior = nullptr) const;
  double by_targets(const WeightedFrequencies& at, WeightedFrequencies* gradient, const Execution& execution) const;

 private:
  // Outputs that are there in the same rows, and those rows.
  struct Group {
    std::vector<Index> outputs;
    Matrix<T> X, Y;
    Vector<T> weights;  // empty: all one
    double total_weight = 0;
  };
  bool in_range(const WeightedFrequencies& at) const;
  void check(const WeightedFrequencies& at) const;

  std::vector<Group> groups_;
  Index dim_in_, dim_out_, targets_ = 0;
};

// Mean (n, p) and latent covariance of the outputs at each row, (n, p p), of the process with this posterior; the
// covariance where it is not null.
template <Real T>
void predict_fourier(const WeightedFrequencies& at, const FourierPosterior& posterior, ConstView<T> X,
                     Matrix<double>& mean, Matrix<double>* covariance, const Execution& execution);
// Rows of X by rows of one function drawn from the posterior each: draw k is at out[k] (n, p).
template <Real T>
std::vector<Matrix<double>> sample_fourier(const WeightedFrequencies& at, const FourierPosterior& posterior,
                                           ConstView<T> X, Index draws, std::uint64_t seed, const Execution& execution);

}  // namespace carmina
