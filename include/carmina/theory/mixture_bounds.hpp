// theory/mixture_bounds.hpp -- probabilities that the features of a spectral mixture are further than epsilon from its
// kernel: [Jung2019, Appendix B], corrected.
//
// Component q has counts[q] independent spectral points. Errors are absolute, in units of sum w = k(0). A bound that
// says nothing is 1.
#pragma once
#include <carmina/kernels/mixture.hpp>
#include <vector>

namespace carmina::theory {

// P(sup |k~ - k| >= epsilon) over all pairs of a set of that diameter.
double mixture_uniform_bound(const Mixture& mixture, const std::vector<Index>& counts, double diameter, double epsilon);

// The same for one pair of rows, chosen before the points are drawn: it depends on weights and counts alone.
double mixture_pointwise_bound(const Vector<double>& weights, const std::vector<Index>& counts, double epsilon);

// sigma_L, sigma_L^2 >= E[L^2] for the Lipschitz constant L of the error k~ - k.
double mixture_slope(const Mixture& mixture, const std::vector<Index>& counts);

}  // namespace carmina::theory
