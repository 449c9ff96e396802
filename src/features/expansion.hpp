// features/expansion.hpp -- operator-valued Fourier maps as a scalar map and a factor B_j for each frequency.
//
// mathematics.md 1c: Phi(x) = [cos<x, w_j> B_jᵀ; sin<x, w_j> B_jᵀ]. So Phi(x)* theta = phi(x) E theta, where E turns
// the coefficients of frequency j into B_j theta_j, a row of p numbers: products with data are those of the scalar map,
// and E costs O(p) a frequency. The Gram matrix of Phi is that of phi times B_jᵀ B_k, entry by entry.
#pragma once
#include "features/fourier_map.hpp"
#include "features/output_factors.hpp"

#include <carmina/kernels/kernel.hpp>

namespace carmina {

class Expansion {
 public:
  // W (units, d): frequencies of the kernel's terms one after the other, as many for each that is drawn; those that
  // factors are of (FourierMap::unit_frequencies).
  Expansion(const Kernel& kernel, const Matrix<double>& W, Index dim_out);

  Index units() const { return units_; }
  Index dim_out() const { return dim_out_; }
  Index dim_coef() const { return dim_coef_; }

  // theta (dim_coef, 1) -> E theta (2 units, p), rows as the scalar map's features: cosines, then sines.
  Matrix<double> expand(const Matrix<double>& theta) const;
  // R (2 units, p) -> Eᵀ R (dim_coef, 1)
  Matrix<double> contract(const Matrix<double>& R) const;
  // Eᵀ (G (x) I_p) E, lower triangle, from the scalar map's Gram matrix G (2 units, 2 units), lower triangle; perhaps
  // of some outputs alone, the others' part of I_p being zero.
  Matrix<double> gram(Eigen::Ref<const Matrix<double>, 0, Eigen::OuterStride<>> G, int threads,
                      const std::vector<Index>* outputs = nullptr) const;

 private:
  // The frequencies of one term. Its coefficients: (count, width) for the cosines, then for the sines.
  struct Segment {
    OutputFactors factors;
    Matrix<double> W;                   // (count, d), or the columns that a vector field is of
    Index first, count, width, offset;  // width p': columns of B_j; offset of its coefficients
    // What B_j is multiplied with (count): sqrt(weight), what the scalar map's 1/sqrt(units) lacks, and of bounded
    // features what their measure lacks.
    Vector<double> scale;
  };
  Matrix<double> columns(const Segment& segment) const;  // (count width, p): row (j, b) is column b of B_j

  Index units_, dim_out_, dim_coef_ = 0;
  std::vector<Segment> segments_;
};

// The first `count` frequencies that the stream holds for a term: (count, dim_in).
Matrix<double> sample_frequencies(const Term& term, Index dim_in, Index count, const Random& random,
                                  Sampling sampling = Sampling::iid);
// Those of each factor of its product, which add up to them; zero in columns that a factor is not of.
std::vector<Matrix<double>> sample_factor_frequencies(const Term& term, Index dim_in, Index count, const Random& random,
                                                      Sampling sampling = Sampling::iid);
HadamardFrequencies sample_hadamard(const Term& term, Index dim_in, Index count, const Random& random);
// Of which term i of a sum draws.
Random stream_of_term(std::uint64_t seed, Index i);
// Frequencies of all terms, n_components / 2 for each that is drawn, each term from a stream of its own: (units, d).
Matrix<double> sample_term_frequencies(const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
                                       Sampling sampling = Sampling::iid);
// Those of factors of outputs where they are others (place_is_shared), the same for the rest; else empty.
Matrix<double> sample_place_frequencies(const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed,
                                        Sampling sampling);
// What the waves of Linear factors are multiplied with, a function of the kernel alone. Error where a product has fewer
// units than its linear factors have products of inputs.
Amplitudes term_amplitudes(const Kernel& kernel, Index dim_in, Index units);
// With Sampling::phases n_components of them for the only term, and as many phases.
Vector<double> sample_term_phases(Index n_components, std::uint64_t seed);
// The same as signs and lengths, for kernels whose terms are all functions of |x - z|.
HadamardFrequencies sample_term_hadamard(const Kernel& kernel, Index dim_in, Index n_components, std::uint64_t seed);

}  // namespace carmina
