// theory/fourier.hpp -- how far Fourier features are from their kernel: variance of one frequency, and bounds for many.
#pragma once
#include <carmina/kernels/kernel.hpp>
#include <carmina/kernels/mixture_kernel.hpp>
#include <vector>

namespace carmina::theory {

// How much one random frequency varies: moments of A(w), the variance b(delta), its Orlicz norm.
//
// A Fourier map estimates K_0(delta) = E[cos<w, delta> A(w)] by an average over D independent frequencies, so its error
// F has E[F] = 0 and ||E[F^2]|| = b(delta) / D. A sum of kernels has D frequencies for each term, and its variances add
// up.

struct SpectralMoments {
  Matrix<double> mean;      // E[A(w)] = K_0(0), (p, p)
  Matrix<double> variance;  // V[A] = E[A^2] - E[A]^2, (p, p)
};

// Closed forms: any scalar kernel with an output matrix (A is constant: variance 0), the Gaussian one for curl-free and
// divergence-free kernels. The functions below need the same and say so otherwise. An uncoupled kernel is taken as p
// = 1.
SpectralMoments spectral_moments(const Kernel& kernel, Index dim_in);

// D E[F(delta)^2], (p, p).
Matrix<double> variance_matrix(const Kernel& kernel, const Vector<double>& delta);
// b(delta), its spectral norm, exact.
double variance(const Kernel& kernel, const Vector<double>& delta);
// The largest b(delta) for |delta| <= diameter. Exact for one term with one length scale; otherwise at most what a term
// by term bound gives: ||E[A^2]|| for differential ones with several length scales, and sums of the terms' suprema.
double variance_supremum(const Kernel& kernel, Index dim_in, double diameter);
// [Brault2016, Prop. 3.1], corrected: an upper bound on b(delta), exact for an output matrix.
double variance_bound(const Kernel& kernel, const Vector<double>& delta);

// || |A(w)| ||_psi1 = inf {c: E exp(|A(w)| / c) <= 2} of a kernel that is no sum [Brault2016, Def. 3.1]; infinite where
// the frequencies of a differential kernel have heavier tails than the Gaussian one's.
double orlicz_norm(const Kernel& kernel, Index dim_in);

// Probabilities that a Fourier map is further than epsilon from its kernel, and the map size they ask for.
//
// Errors are spectral norms of K~(x, z) - K(x, z), frequencies independent. A bound may come out above 1: it then says
// nothing. For a sum of T terms each term gets epsilon / T, and the probabilities add up.

// E[L^2] of the error's Lipschitz constant L enters every uniform bound. The paper takes sigma_p^2 for it, which treats
// the random place of the steepest slope as fixed (E[L^2] / sigma_p^2 = 1.17 at D = 1); 4 sigma_p^2 is always enough.
enum class Slope { as_printed, rigorous };

// What [Brault2016, Theorem 3.1] is made of, for a kernel that is no sum, on a set of the given diameter.
struct TheoremConstants {
  Index dim_in, dim_out;
  double variance;     // b = sup b(delta)
  double orlicz;       // || |A(w)| ||_psi1
  double kernel_norm;  // sup ||K_0|| = ||K_0(0)||
  double slope;        // sigma_p, sigma_p^2 = E[|w|^2 |A(w)|^2]; infinite for heavy tails
  bool constant;       // A does not depend on w: |A| is kernel_norm

  double m() const { return 4 * (orlicz + kernel_norm); }
  double u() const;  // m log(1 + 2 m^2 / b)
};
TheoremConstants theorem_constants(const Kernel& kernel, Index dim_in, double diameter);

// P(sup ||K~ - K|| >= epsilon) over all pairs of a set of that diameter: [Brault2016, Theorem 3.1], corrected. Error
// when it does not apply: heavy tails.
double uniform_bound(const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components,
                     Slope slope = Slope::rigorous);

// The same for one pair of rows, chosen before the frequencies are drawn: matrix Bernstein inequalities, for a constant
// A the bounded one, else the sub-exponential one. Given delta = x - z, or for any pair at most `diameter` apart.
double pointwise_bound(const Kernel& kernel, const Vector<double>& delta, double epsilon, Index n_components);
double pointwise_bound(const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components);

// Uniform bounds for scalar kernels and output matrices, whose error is a scalar one times A. `classical` is
// [Brault2016, Theorem A.1 and Cor. A.1.1], corrected, for sigma_p diameter >= epsilon / ||A||; `sharp` keeps its
// constant.
enum class ScalarForm { classical, sharp };
double decomposable_bound(const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components,
                          ScalarForm form = ScalarForm::sharp, Slope slope = Slope::rigorous);

// The smallest n_components (even) for which a bound above gives error < epsilon with at least this probability: for
// all pairs at once (the better of uniform_bound and decomposable_bound), or for any one pair.
enum class Guarantee { uniform, pointwise };
Index components_needed(const Kernel& kernel, Index dim_in, double diameter, double epsilon, double probability,
                        Guarantee guarantee = Guarantee::uniform);

// Probabilities that the features of a spectral mixture are further than epsilon from its kernel: [Jung2019, Appendix
// B], corrected.
//
// Component q has counts[q] independent spectral points. Errors are absolute, in units of sum w = k(0). A bound that
// says nothing is 1.

// P(sup |k~ - k| >= epsilon) over all pairs of a set of that diameter.
double mixture_uniform_bound(const Mixture& mixture, const std::vector<Index>& counts, double diameter, double epsilon);

// The same for one pair of rows, chosen before the points are drawn: it depends on weights and counts alone.
double mixture_pointwise_bound(const Vector<double>& weights, const std::vector<Index>& counts, double epsilon);

// sigma_L, sigma_L^2 >= E[L^2] for the Lipschitz constant L of the error k~ - k.
double mixture_slope(const Mixture& mixture, const std::vector<Index>& counts);

}  // namespace carmina::theory
