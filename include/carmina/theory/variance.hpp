// theory/variance.hpp -- how much one random frequency varies: moments of A(w), the variance b(delta), its Orlicz norm.
//
// A Fourier map estimates K_0(delta) = E[cos<w, delta> A(w)] by an average over D independent frequencies, so its error
// F has E[F] = 0 and ||E[F^2]|| = b(delta) / D. A sum of kernels has D frequencies for each term, and its variances add
// up.
#pragma once
#include <carmina/kernels/kernel.hpp>

namespace carmina::theory {

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

}  // namespace carmina::theory
