// theory/variance.cpp -- exact second moments of cos<w, delta> A(w), for constant A and for Gaussian frequencies.
#include "theory/terms.hpp"

#include <carmina/theory/fourier.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina::theory {
namespace {

// M(t) = E[cos<w, t> A(w)^2] for w ~ N(0, S), S diagonal. Completing the square moves w to w + i a, a = S t:
//   E[cos<w, t> f(w)] = exp(-tᵀSt / 2) Re E[f(w + i a)].
// With f = |w|^2 w wᵀ = A_curl^2, of whose terms those even in w remain:
//   M_curl = exp(-tᵀSt / 2) [tr(S) S + 2 S^2 - |a|^2 S - tr(S) a aᵀ + |a|^2 a aᵀ - 2 (S a aᵀ + a aᵀ S)],
// and since A_div^2 = |w|^2 (|w|^2 I - w wᵀ), M_div = tr(M_curl) I - M_curl.
// mathematics.md 1e's formulas for one length scale are its eigenvalues along t and across it.
Matrix<double> squared_moment(const Vector<double>& S, const Vector<double>& t, bool curl) {
  const Vector<double> a = S.cwiseProduct(t), Sa = S.cwiseProduct(a);
  const double trace = S.sum(), aa = a.squaredNorm();
  Matrix<double> M = (aa - trace) * a * a.transpose() - 2 * (Sa * a.transpose() + a * Sa.transpose());
  M.diagonal() += (trace - aa) * S + 2 * S.cwiseProduct(S);
  M *= std::exp(-t.dot(a) / 2);
  if (curl) return M;
  Matrix<double> D = -M;
  D.diagonal().array() += M.trace();
  return D;
}

// K_0(t) = E[cos<w, t> A(w)] of the same: K_curl = exp(-tᵀSt / 2) (S - a aᵀ), K_div = tr(K_curl) I - K_curl.
Matrix<double> gaussian_kernel(const Vector<double>& S, const Vector<double>& t, bool curl) {
  const Vector<double> a = S.cwiseProduct(t);
  Matrix<double> K = -a * a.transpose();
  K.diagonal() += S;
  K *= std::exp(-t.dot(a) / 2);
  if (curl) return K;
  Matrix<double> D = -K;
  D.diagonal().array() += K.trace();
  return D;
}

// The same of bounded features (mathematics.md 1b, one length scale): with A' = A d S / |w|^2 and the density |w|^2 /
// (d S) times the Gaussian one, E'[cos<w, t> A'^2] = E[cos<w, t> A^2 d S / |w|^2] = d S K_0(t), since A^2 = |w|^2 A.
Matrix<double> bounded_moment(const Vector<double>& S, const Vector<double>& t, bool curl) {
  return static_cast<double>(S.size()) * S[0] * gaussian_kernel(S, t, curl);
}

Matrix<double> moment_of(const Term& term, const Vector<double>& S, const Vector<double>& t) {
  return has_bounded_features(term.coupling) ? bounded_moment(S, t, is_curl_free(term))
                                             : squared_moment(S, t, is_curl_free(term));
}

SpectralMoments term_moments(const Term& term, Index dim_in, Index dim_out) {
  if (!is_differential(term)) return {constant_matrix(term, dim_out), Matrix<double>::Zero(dim_out, dim_out)};
  const Vector<double> S = gaussian_spectrum(term, dim_in, "spectral_moments"), zero = Vector<double>::Zero(dim_in);
  const bool curl = is_curl_free(term);
  // E[A] = S or tr(S) I - S. [Brault2016, 3.1] prints V[A] = d(4d - 3) / sigma^4 for the divergence-free one; it is
  // 3(d - 1) / sigma^4.
  const Matrix<double> mean = gaussian_kernel(S, zero, curl);
  return {term.weight * mean, term.weight * term.weight * (moment_of(term, S, zero) - mean * mean)};
}

// b / |A|^2 of a constant A at a scaled distance: (1 + k(2 delta) - 2 k(delta)^2) / 2, by cos^2 a = (1 + cos 2a) / 2.
// The paper prints (1 + k(2 delta)) |A| / 2 + k(delta)^2: |A| for |A|^2, and + for -.
double scalar_variance(double k, double k_twice) { return (1 + k_twice - 2 * k * k) / 2; }

// Eigenvalues of the divergence-free variance in units of sigma^-4 (mathematics.md 1e), s = |delta|^2 / sigma^2: along
// delta and across.
double divergence_free_variance(double d, double s) {
  const double e = std::exp(-s), e2 = e * e;
  const double along = (d - 1) * (d + 2 + (d + 2 - 4 * s) * e2) / 2 - (d - 1) * (d - 1) * e;
  const double across = ((d - 1) * (d + 2) + (16 * s * s - 4 * (2 * d + 3) * s + (d - 1) * (d + 2)) * e2) / 2 -
                        (d - 1 - s) * (d - 1 - s) * e;
  return std::max(along, across);
}

void check_diameter(double diameter) {
  require(diameter > 0 && std::isfinite(diameter), "theory: diameter must be positive and finite, found {}", diameter);
}

}  // namespace

Matrix<double> term_variance(const Term& term, const Vector<double>& delta, Index dim_out) {
  if (!is_differential(term)) {
    const Matrix<double> A = constant_matrix(term, dim_out);
    return scalar_variance(scalar_value(term.scalar, delta), scalar_value(term.scalar, 2 * delta)) * (A * A);
  }
  // E[cos^2<w, delta> A^2] - K_0(delta)^2 = (M(0) + M(2 delta)) / 2 - K_0(delta)^2. [Brault2016, Eq. (19)] has a stray
  // 1 / D.
  const Vector<double> S = gaussian_spectrum(term, delta.size(), "variance");
  const bool curl = is_curl_free(term);
  const Matrix<double> K = gaussian_kernel(S, delta, curl);
  const Matrix<double> M = moment_of(term, S, Vector<double>::Zero(delta.size())) + moment_of(term, S, 2 * delta);
  return term.weight * term.weight * (M / 2 - K * K);
}

double term_supremum(const Term& term, Index dim_in, double diameter) {
  check_diameter(diameter);
  if (!is_differential(term)) {
    const double norm = constant_norm(term);
    // A mixture is a function of no distance; (1 + k(2 delta) - 2 k(delta)^2) / 2 is at most 1.
    if (std::holds_alternative<SpectralMixture>(term.scalar)) return norm * norm;
    const double end = scaled_distance(term.scalar, dim_in, diameter);
    return norm * norm *
           maximum(
               [&](double r) {
                 return scalar_variance(scalar_value(term.scalar, r), scalar_value(term.scalar, 2 * r));
               },
               end);
  }
  const Vector<double> S = gaussian_spectrum(term, dim_in, "variance_supremum");
  const double square = term.weight * term.weight, d = static_cast<double>(dim_in);
  const bool curl = is_curl_free(term);
  if (has_bounded_features(term.coupling)) {
    return maximum(
        [&](double r) { return spectral_norm(term_variance(term, r * Vector<double>::Unit(dim_in, 0), dim_in)); },
        diameter);
  }
  // With several length scales: E[cos^2 A^2] - K_0^2 <= E[A^2] as matrices.
  if (!isotropic(S)) return square * spectral_norm(squared_moment(S, Vector<double>::Zero(dim_in), curl));
  const double unit = square * S[0] * S[0];
  if (curl) return unit * (d + 1);  // at delta = 0
  return unit * maximum([&](double s) { return divergence_free_variance(d, s); }, diameter * diameter * S[0]);
}

double term_orlicz(const Term& term, Index dim_in) {
  if (!is_differential(term)) return constant_norm(term) / std::log(2.0);  // exp(|A| / c) = 2
  if (!std::holds_alternative<Gaussian>(term.scalar)) return std::numeric_limits<double>::infinity();
  // |A(w)| = |w|^2 (all of these: ||w|^2 I - w wᵀ| = |w|^2 for d >= 2), E exp(x |w|^2) = prod_j (1 - 2 S_j x)^(-1/2)
  // = 2. One length scale: x = (1 - 4^(-1/d)) / (2 S), the paper's; several: bisection below the first pole.
  const Vector<double> S = gaussian_spectrum(term, dim_in, "orlicz_norm");
  if (has_bounded_features(term.coupling))
    return term.weight * static_cast<double>(dim_in) * S[0] / std::log(2.0);  // |A'| = d S
  double low = 0, high = 1 / (2 * S.maxCoeff());
  if (isotropic(S)) {
    low = high *= 1 - std::pow(4.0, -1 / static_cast<double>(dim_in));
  } else {
    for (int i = 0; i < 200; ++i) {
      const double x = (low + high) / 2;
      const double log_mgf = -(1 - 2 * x * S.array()).log().sum() / 2;
      (log_mgf < std::log(2.0) ? low : high) = x;
    }
  }
  return term.weight / low;
}

SpectralMoments spectral_moments(const Kernel& kernel, Index dim_in) {
  const Index p = outputs_of(kernel, dim_in);
  SpectralMoments out{Matrix<double>::Zero(p, p), Matrix<double>::Zero(p, p)};
  for (const Term& term : kernel.terms()) {
    const SpectralMoments moments = term_moments(term, dim_in, p);
    out.mean += moments.mean, out.variance += moments.variance;
  }
  return out;
}

Matrix<double> variance_matrix(const Kernel& kernel, const Vector<double>& delta) {
  const Index p = outputs_of(kernel, delta.size());
  Matrix<double> out = Matrix<double>::Zero(p, p);
  for (const Term& term : kernel.terms()) out += term_variance(term, delta, p);
  return out;
}

double variance(const Kernel& kernel, const Vector<double>& delta) {
  return spectral_norm(variance_matrix(kernel, delta));
}

double variance_supremum(const Kernel& kernel, Index dim_in, double diameter) {
  outputs_of(kernel, dim_in);
  double sum = 0;
  for (const Term& term : kernel.terms()) sum += term_supremum(term, dim_in, diameter);
  return sum;
}

// b <= |(K_0(2 delta) + K_0(0)) E[A] - 2 K_0(delta)^2| / 2 + |V[A]|. As printed in the paper's applications it lacks
// K_0(0) E[A] for differential kernels, and its Prop. C.1 squares a norm instead of K_0. The step |Cov[cos A, A]| <=
// |V[A]| is false for some kernels; it holds for a constant A, and for Gaussian differential ones with one length
// scale.
double variance_bound(const Kernel& kernel, const Vector<double>& delta) {
  const Index p = outputs_of(kernel, delta.size());
  double sum = 0;
  for (const Term& term : kernel.terms()) {
    if (!is_differential(term)) {
      sum += spectral_norm(term_variance(term, delta, p));
      continue;
    }
    const Vector<double> S = gaussian_spectrum(term, delta.size(), "variance_bound");
    require(!has_bounded_features(term.coupling),
            "variance_bound: Prop. 3.1 is not known for bounded features; `variance` is exact for them");
    require(isotropic(S),
            "variance_bound: Prop. 3.1 is known for one length scale only; `variance` is exact for several");
    const bool curl = is_curl_free(term);
    const Matrix<double> K = gaussian_kernel(S, delta, curl), K2 = gaussian_kernel(S, 2 * delta, curl);
    const SpectralMoments moments = term_moments(term, delta.size(), p);
    const Matrix<double> E = moments.mean / term.weight;
    const double square = term.weight * term.weight;
    sum += square * spectral_norm((K2 + E) * E - 2 * K * K) / 2 + spectral_norm(moments.variance);
  }
  return sum;
}

double orlicz_norm(const Kernel& kernel, Index dim_in) {
  outputs_of(kernel, dim_in);
  require(kernel.terms().size() == 1, "orlicz_norm: the kernel is a sum of {} terms; ask for one of them",
          kernel.terms().size());
  return term_orlicz(kernel.terms()[0], dim_in);
}

}  // namespace carmina::theory
