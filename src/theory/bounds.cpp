// theory/bounds.cpp -- Bernstein's and Hoeffding's inequalities at one point, and the net that makes them uniform.
#include "features/fourier_map.hpp"
#include "theory/net.hpp"
#include "theory/terms.hpp"

#include <carmina/theory/fourier.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace carmina::theory {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// sigma_p^2 = E[|w|^2 |A(w)|^2]. Constant A: |A|^2 E|w|^2, and E w_j^2 = -g'(0) / l_j^2 since k = g(|delta|^2 / 2).
// Gaussian differential ones: E|w|^6 = tr(S)^3 + 6 tr(S) tr(S^2) + 8 tr(S^3), d(d+2)(d+4) / sigma^6 for one length
// scale.
double term_slope(const Term& term, Index dim_in) {
  if (is_differential(term)) {
    if (!std::holds_alternative<Gaussian>(term.scalar)) return infinity;
    const auto S = gaussian_spectrum(term, dim_in, "theory").array().eval();
    // Bounded features, one length scale: |A'| = d S, and |w|^2 / S is chi^2 with d + 2 degrees of freedom.
    const auto d = static_cast<double>(dim_in);
    if (has_bounded_features(term.coupling)) return term.weight * d * S[0] * std::sqrt((d + 2) * S[0]);
    return term.weight * std::sqrt(std::pow(S.sum(), 3) + 6 * S.sum() * S.square().sum() + 8 * S.cube().sum());
  }
  if (why_not_differentiable(term.scalar) != nullptr) return infinity;
  if (const auto* mixture = std::get_if<SpectralMixture>(&term.scalar)) {
    return constant_norm(term) * std::sqrt(mixture->mean_square_frequency());
  }
  const LengthScale& width = length_scale(term.scalar);
  const double curvature = -visit_stationary([](const auto& k) { return k.slopes(0).first; }, term.scalar);
  double sum = 0;
  for (Index j = 0; j < dim_in; ++j) sum += curvature / (width[j] * width[j]);
  return constant_norm(term) * std::sqrt(sum);
}

// ||K_0(0)|| = ||E[A]||, which no ||K_0(delta)|| exceeds.
double term_norm(const Term& term, Index dim_in) {
  if (!is_differential(term)) return constant_norm(term);
  if (!std::holds_alternative<Gaussian>(term.scalar)) return infinity;
  const Vector<double> S = gaussian_spectrum(term, dim_in, "theory");
  return term.weight * (is_curl_free(term) ? S.maxCoeff() : S.sum() - S.minCoeff());
}

TheoremConstants constants_with(const Term& term, Index dim_in, Index dim_out, double variance) {
  return {dim_in,
          dim_out,
          variance,
          term_orlicz(term, dim_in),
          term_norm(term, dim_in),
          term_slope(term, dim_in),
          !is_differential(term)};
}

void require_light_tails(const Term& term, const char* what) {
  require(!is_differential(term) || !std::holds_alternative<SpectralMixture>(term.scalar),
          "{}: of curl-free and divergence-free kernels over a spectral mixture no bound is known here; "
          "approximation_report measures them",
          what);
  require(
      !is_differential(term) || std::holds_alternative<Gaussian>(term.scalar),
      "{}: |A(w)| of a {} kernel over '{}' has heavy tails (its psi_1 norm is infinite), so the theorem does not apply",
      what, is_curl_free(term) ? "curl-free" : "divergence-free", kernel_name(term.scalar));
}
void require_slope(const Term& term, const char* what) {
  require_light_tails(term, what);
  require(is_differential(term) || why_not_differentiable(term.scalar) == nullptr,
          "{}: frequencies of '{}' have no second moment, so no uniform bound applies; pointwise_bound does", what,
          kernel_name(term.scalar));
}

// log of 2p exp(-D eps^2 / (4b + 2 eps u / 3)) if eps u <= 2(e-1) b, else of 2p exp(-D eps / ((e-1) u)):
// [Brault2016, Theorem B.2 and Eqs. (16), (17)] at their delta = 1, with u = m log(1 + 2 m^2 / b). The paper prints
// M^2 / B_D^2 for D M^2 / B_D there, which changes with the unit of length and can make u negative.
double log_sub_exponential(const TheoremConstants& c, double epsilon, double D) {
  const double u = c.u(), e1 = std::numbers::e - 1;
  const double exponent = epsilon * u <= 2 * e1 * c.variance
                              ? epsilon * epsilon / (4 * c.variance + 2 * epsilon * u / 3)
                              : epsilon / (e1 * u);
  return std::log(2 * static_cast<double>(c.dim_out)) - D * exponent;
}

// log of 2p exp(-D eps^2 / (2b + 2 U eps / 3)), ||cos A - K_0|| <= U: [Brault2016, Theorem B.1], which prints p for 2p.
double log_bounded(const TheoremConstants& c, double U, double epsilon, double D) {
  return std::log(2 * static_cast<double>(c.dim_out)) - D * epsilon * epsilon / (2 * c.variance + 2 * U * epsilon / 3);
}

// Sum over terms of bound(term, epsilon / terms).
template <class Bound>
double over_terms(const Kernel& kernel, double epsilon, const Bound& bound) {
  check_epsilon(epsilon);
  double sum = 0;
  for (const Term& term : kernel.terms()) {
    if (!is_differential(term) && constant_norm(term) == 0) continue;  // an estimate of zero has no error
    sum += bound(term, epsilon / static_cast<double>(kernel.terms().size()));
  }
  return sum;
}

double stretch(Slope slope) { return slope == Slope::rigorous ? 2 : 1; }

double pointwise_of(const TheoremConstants& c, double U, double epsilon, double D) {
  return std::exp(c.constant ? log_bounded(c, U, epsilon, D) : log_sub_exponential(c, epsilon, D));
}

}  // namespace

double TheoremConstants::u() const { return m() * std::log1p(2 * m() * m() / variance); }

TheoremConstants theorem_constants(const Kernel& kernel, Index dim_in, double diameter) {
  const Index p = outputs_of(kernel, dim_in);
  require(kernel.terms().size() == 1, "theorem_constants: the kernel is a sum of {} terms; ask for one of them",
          kernel.terms().size());
  const Term& term = kernel.terms()[0];
  require_light_tails(term, "theorem_constants");
  return constants_with(term, dim_in, p, term_supremum(term, dim_in, diameter));
}

double uniform_bound(const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components,
                     Slope slope) {
  const Index p = outputs_of(kernel, dim_in);
  const auto D = static_cast<double>(frequency_count(n_components));
  return over_terms(kernel, epsilon, [&](const Term& term, double share) {
    require_slope(term, "uniform_bound");
    const TheoremConstants c = constants_with(term, dim_in, p, term_supremum(term, dim_in, diameter));
    // At a centre the error must stay below epsilon / 2; the paper's case split is at epsilon, and (18) has other
    // constants.
    return net_bound(log_sub_exponential(c, share / 2, D), stretch(slope) * c.slope, diameter, share, dim_in);
  });
}

double pointwise_bound(const Kernel& kernel, const Vector<double>& delta, double epsilon, Index n_components) {
  const Index p = outputs_of(kernel, delta.size());
  const auto D = static_cast<double>(frequency_count(n_components));
  return over_terms(kernel, epsilon, [&](const Term& term, double share) {
    require_light_tails(term, "pointwise_bound");
    const double b = spectral_norm(term_variance(term, delta, p));
    const TheoremConstants c = constants_with(term, delta.size(), p, b);
    return pointwise_of(c, c.kernel_norm * (1 + std::abs(scalar_value(term.scalar, delta))), share, D);
  });
}

double pointwise_bound(const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components) {
  const Index p = outputs_of(kernel, dim_in);
  const auto D = static_cast<double>(frequency_count(n_components));
  return over_terms(kernel, epsilon, [&](const Term& term, double share) {
    require_light_tails(term, "pointwise_bound");
    const TheoremConstants c = constants_with(term, dim_in, p, term_supremum(term, dim_in, diameter));
    return pointwise_of(c, 2 * c.kernel_norm, share, D);
  });
}

double decomposable_bound(const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components,
                          ScalarForm form, Slope slope) {
  outputs_of(kernel, dim_in);
  require(diameter > 0 && std::isfinite(diameter), "theory: diameter must be positive and finite, found {}", diameter);
  require(!kernel.has_differential(),
          "decomposable_bound: curl-free and divergence-free kernels have no constant A; "
          "uniform_bound is for them");
  const auto D = static_cast<double>(frequency_count(n_components));
  return over_terms(kernel, epsilon, [&](const Term& term, double share) {
    require_slope(term, "decomposable_bound");
    const double norm = constant_norm(term), e = share / norm, d = static_cast<double>(dim_in);
    const double sigma = stretch(slope) * term_slope(term, dim_in) / norm;  // sqrt(E|w|^2), for the scalar kernel
    // Hoeffding at a centre: 2 exp(-D (e/2)^2 / 2), cosines being in [-1, 1].
    if (form == ScalarForm::sharp) return net_bound(std::log(2.0) - D * e * e / 8, sigma, diameter, e, dim_in);
    // 2^8 (sigma_p l / e)^2 exp(-e^2 D / (4 (d + 2))); the paper prints d sigma, sigma the length scale, for
    // sigma_p = sqrt(d) / sigma.
    const double ratio = sigma * diameter / e;
    require(ratio >= 1,
            "decomposable_bound: the classical form needs sigma_p * diameter >= epsilon / |A|, found {} < {}",
            sigma * diameter, e);
    return 256 * ratio * ratio * std::exp(-e * e * D / (4 * (d + 2)));
  });
}

Index components_needed(const Kernel& kernel, Index dim_in, double diameter, double epsilon, double probability,
                        Guarantee guarantee) {
  require(probability > 0 && probability < 1, "components_needed: probability must be between 0 and 1, found {}",
          probability);
  const auto bound = [&](Index frequencies) {
    const Index n = 2 * frequencies;
    if (guarantee == Guarantee::pointwise) return pointwise_bound(kernel, dim_in, diameter, epsilon, n);
    const double general = uniform_bound(kernel, dim_in, diameter, epsilon, n);
    if (kernel.has_differential()) return general;
    return std::min(general, decomposable_bound(kernel, dim_in, diameter, epsilon, n));
  };
  constexpr Index most = Index(1) << (8 * sizeof(Index) - 12);  // 2^52 of 64 bits
  Index enough = 1;
  while (bound(enough) > 1 - probability) {
    require(enough < most, "components_needed: more than {} frequencies would be needed for epsilon = {}", most,
            epsilon);
    enough *= 2;
  }
  Index too_few = enough / 2;
  while (enough - too_few > 1) {
    const Index middle = too_few + (enough - too_few) / 2;
    (bound(middle) > 1 - probability ? too_few : enough) = middle;
  }
  return 2 * enough;
}

}  // namespace carmina::theory
