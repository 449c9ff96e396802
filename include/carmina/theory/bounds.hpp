// theory/bounds.hpp -- probabilities that a Fourier map is further than epsilon from its kernel, and the map size they
// ask for.
//
// Errors are spectral norms of K~(x, z) - K(x, z), frequencies independent. A bound may come out above 1: it then says
// nothing. For a sum of T terms each term gets epsilon / T, and the probabilities add up.
#pragma once
#include <carmina/kernels/kernel.hpp>

namespace carmina::theory {

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

}  // namespace carmina::theory
