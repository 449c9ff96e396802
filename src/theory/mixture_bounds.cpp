// theory/mixture_bounds.cpp -- Hoeffding's inequality for spectral points of unequal amplitude, and the net over it.
#include "theory/net.hpp"

#include <carmina/theory/fourier.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina::theory {
namespace {

// W = sum_q w_q^2 / m_q: the error is a sum of independent terms (w_q / m_q) cos(...) about their means, so that
// P(|error| >= epsilon) <= 2 exp(-epsilon^2 / (2 W)).
double amplitude(const Vector<double>& weights, const std::vector<Index>& counts) {
  const auto Q = static_cast<std::size_t>(weights.size());
  require(Q > 0 && counts.size() == Q, "theory: {} weights, {} counts", Q, counts.size());
  double sum = 0;
  for (std::size_t q = 0; q < Q; ++q) {
    const double w = weights[static_cast<Index>(q)];
    require(w > 0 && std::isfinite(w), "theory: weights must be positive and finite, found {} for component {}", w, q);
    require(counts[q] > 0, "theory: counts must be positive, found {} for component {}", counts[q], q);
    sum += w * w / static_cast<double>(counts[q]);
  }
  return sum;
}

// E eps^2 = -chi''(0)
double standard_variance(const MixtureFamily& family) {
  constexpr double t = 1e-7;
  return std::visit([](const auto& f) { return -f.chi_slope(t) / t; }, family);
}

}  // namespace

// |grad(k~ - k)| <= 2 pi (a + E a) everywhere, a = sum_q (w_q / m_q) sum_i |s_qi|. With rho_q^2 = E|s_q|^2,
//   E(a + E a)^2 = var a + 4 (E a)^2 <= sum_q w_q^2 rho_q^2 / m_q + 4 (sum_q w_q rho_q)^2.
// Differs from print: only the first sum is there, the cross terms and the random place of the steepest slope are lost.
double mixture_slope(const Mixture& mixture, const std::vector<Index>& counts) {
  mixture.check();
  amplitude(mixture.weights, counts);
  const double spread = standard_variance(mixture.family);
  double mean = 0, variance = 0;
  for (Index q = 0; q < mixture.size(); ++q) {
    const double square = mixture.means.row(q).squaredNorm() + spread * mixture.scales.row(q).squaredNorm();
    const double w = mixture.weights[q];
    mean += w * std::sqrt(square);
    variance += w * w * square / static_cast<double>(counts[static_cast<std::size_t>(q)]);
  }
  return 2 * std::numbers::pi * std::sqrt(4 * mean * mean + variance);
}

// beta_d (sigma_L l / epsilon)^(2d/(d+2)) exp(-epsilon^2 / (4 (d + 2) W)) where the net has more than one ball.
double mixture_uniform_bound(const Mixture& mixture, const std::vector<Index>& counts, double diameter,
                             double epsilon) {
  check_epsilon(epsilon);
  require(diameter > 0 && std::isfinite(diameter), "theory: diameter must be positive and finite, found {}", diameter);
  const double slope = mixture_slope(mixture, counts);
  const double log_centre = std::log(2.0) - epsilon * epsilon / (8 * amplitude(mixture.weights, counts));
  return std::min(1.0, net_bound(log_centre, slope, diameter, epsilon, mixture.dim_in()));
}

double mixture_pointwise_bound(const Vector<double>& weights, const std::vector<Index>& counts, double epsilon) {
  check_epsilon(epsilon);
  return std::min(1.0, 2 * std::exp(-epsilon * epsilon / (2 * amplitude(weights, counts))));
}

}  // namespace carmina::theory
