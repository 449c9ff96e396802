// theory/sketch_bounds.cpp -- bounds on the excess risk of sketched machines, and sketch sizes in plain words.
#include "backends/tiled.hpp"

#include <carmina/sketches/distribution.hpp>
#include <carmina/theory/sketching.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina::theory {
namespace {

constexpr double C0 = 5120;
// The net of the proof: balls of radius 1/10, which cost a factor 1 - 2 / 10 - 1 / 100.
constexpr double net_factor = 0.79;

constexpr const char* taken_for_granted =
    "takes a loss in [0, 1] and functions of norm at most 1 for granted, the fits' too";

void require_positive(const char* name, double value) {
  require(value > 0 && std::isfinite(value), "theory: {} must be positive and finite, found {}", name, value);
}

void check(const CriticalRadius& spectrum) {
  require(spectrum.n > 0 && spectrum.radius >= 0 && std::isfinite(spectrum.radius) &&
              spectrum.statistical_dimension >= 0 && spectrum.statistical_dimension <= spectrum.n,
          "theory: no spectrum has n = {}, critical radius {} and statistical dimension {}", spectrum.n,
          spectrum.radius, spectrum.statistical_dimension);
}

struct Outputs {
  double trace, norm;
};

// M must be invertible: below 1e-12 of its norm an eigenvalue is rounding.
Outputs outputs_of(const Matrix<double>& M) {
  const Index p = M.rows();
  require(p > 0 && M.cols() == p && M.allFinite() && (M - M.transpose()).cwiseAbs().maxCoeff() <= 1e-10 * M.norm(),
          "theory: the output matrix must be square, symmetric and finite, found shape ({}, {})", p, M.cols());
  Matrix<double> A = M;
  Vector<double> values(p);
  backend::symmetric_eigen(p, A.data(), p, values.data(), {.threads = 1});
  require(values[0] > 1e-12 * values[p - 1], "theory: the output matrix must be positive definite, found eigenvalue {}",
          values[0]);
  return {values.sum(), values[p - 1]};
}

void check(const RiskSetting& setting) {
  require_positive("alpha", setting.alpha);
  require_positive("lipschitz", setting.lipschitz);
  require_positive("kernel_bound", setting.kernel_bound);
  require(setting.probability > 0 && setting.probability < 1, "theory: probability must be in (0, 1), found {}",
          setting.probability);
}

// L C sqrt(lambda_n + |M| delta_n^2) + lambda_n / 2, (16); for the squared loss the square of the root, L = 1.
double approximation(const CriticalRadius& spectrum, double c, const RiskSetting& setting, double output_norm) {
  require(c >= 0 && std::isfinite(c), "theory: c must be finite and not negative, found {}", c);
  const double lambda = setting.alpha / static_cast<double>(spectrum.n), C = 1 + std::sqrt(6.0) * c;
  const double inside = lambda + output_norm * spectrum.squared();
  const double distance =
      setting.loss == RiskLoss::squared ? C * C * inside : setting.lipschitz * C * std::sqrt(inside);
  return distance + lambda / 2;
}

double sum_of_minima(const Vector<double>& mu, double t) { return mu.cwiseMin(t).sum(); }

void check_density(double density) {
  require(density > 0 && density <= 1, "theory: density must be in (0, 1], found {}", density);
}

SketchSize size_of(Index n, Index components, double density, bool proven) {
  return {components, density, expected_anchors(n, components, density), proven};
}

// E|(S U1)ᵀ S U1 - I| of a Gaussian sketch is about (1 + sqrt(d / s))^2 - 1; this s brings it to 1/2.
Index gaussian_components(const CriticalRadius& spectrum) {
  const double edge = std::sqrt(1.5) - 1;
  const double isometry = static_cast<double>(spectrum.statistical_dimension) / (edge * edge);
  const double tail = static_cast<double>(spectrum.n) * spectrum.squared();
  return std::clamp<Index>(static_cast<Index>(std::ceil(std::max(isometry, tail))), 1, spectrum.n);
}

std::string describe(const SketchSuggestion& s) {
  const Index n = s.spectrum.n;
  const auto share = [&](const SketchSize& size) { return 100 * size.expected_anchors / static_cast<double>(n); };
  const double dense = static_cast<double>(sketch_components_needed(s.spectrum, 1)) * static_cast<double>(n);
  const double cost = static_cast<double>(s.proved.n_components) * s.proved.expected_anchors / dense;
  return format_text(
      "On these {} rows the kernel has statistical dimension {} (critical radius {:.3g}). Proved to be enough: {} "
      "components at density {:.4f}{}. Of the sizes that are proved, this density has the fewest anchors, but these "
      "are "
      "still {:.2f} % of the rows, and components times anchors come to {:.2f} times those of a dense sketch. In "
      "practice: {} components at density {:.2g}, about {:.0f} anchors ({:.0f} % of the rows). Nothing is proved about "
      "that size; k_satisfiability says whether a sample of it will do.",
      n, s.spectrum.statistical_dimension, s.spectrum.radius, s.proved.n_components, s.proved.density,
      s.proved.n_components >= n ? ", which is no fewer than the rows, so that nothing is saved" : "", share(s.proved),
      cost, s.practical.n_components, s.practical.density, s.practical.expected_anchors, share(s.practical));
}

}  // namespace

RiskBound excess_risk_bound(const CriticalRadius& spectrum, double c, const RiskSetting& setting) {
  check(spectrum);
  check(setting);
  const auto n = static_cast<double>(spectrum.n);
  const auto [trace, norm] = outputs_of(setting.outputs);
  const double kappa = setting.kernel_bound;
  const bool squared = setting.loss == RiskLoss::squared;
  const double complexity = squared ? 8 * std::sqrt(trace) * (kappa * std::sqrt(norm) + std::sqrt(kappa)) / std::sqrt(n)
                                    : 8 * setting.lipschitz * std::sqrt(kappa * trace / n);
  RiskBound out{};
  out.approximation = approximation(spectrum, c, setting, norm);
  out.generalization = complexity + 2 * std::sqrt(8 * std::log(4 / (1 - setting.probability)) / n);
  out.value = out.approximation + out.generalization;
  out.probability = setting.probability;
  out.proven = !squared;
  out.note = squared ? "not proven: the proof for the squared loss uses |f~ - y|^2 - |f - y|^2 <= |f~ - f|^2, which is "
                       "false"
                     : std::string("proven for a sketch that is K-satisfiable with this c; ") + taken_for_granted;
  return out;
}

RiskBound sparse_sketch_bound(const CriticalRadius& spectrum, Index n_components, double density, Entries entries,
                              const RiskSetting& setting) {
  const Index needed = sketch_components_needed(spectrum, density);
  RiskBound out = excess_risk_bound(spectrum, satisfiability_constant(density, entries), setting);
  out.probability = std::max(0.0, out.probability - sketch_failure(n_components, density, entries));
  if (!out.proven) return out;
  out.proven = n_components >= needed && out.probability > 0;
  if (n_components < needed) {
    out.note = format_text("not proven: {} components, while {} are needed at this density", n_components, needed);
  } else if (!out.proven) {
    out.note = "says nothing: the sketch may fail with a chance that uses up the whole probability";
  } else {
    out.note = std::string("proven for the sample and the sketch together; ") + taken_for_granted;
  }
  return out;
}

// The right side is a concave function of r that starts above 0, so that it crosses r once.
double local_fixed_point(const Vector<double>& eigenvalues, const RiskSetting& setting,
                         const RefinedConstants& constants) {
  check(setting);
  require(eigenvalues.size() > 0 && eigenvalues.allFinite() && eigenvalues.minCoeff() >= 0,
          "local_fixed_point: eigenvalues must be finite and not negative");
  require_positive("C1", constants.C1);
  require_positive("C2", constants.C2);
  require_positive("b2", constants.b2);
  const auto n = static_cast<double>(eigenvalues.size());
  const double start = constants.C2 / n * -std::log1p(-setting.probability);
  const auto psi = [&](double t) {
    return 2 * setting.lipschitz * constants.C1 * std::sqrt(2 / n * sum_of_minima(eigenvalues, t)) + start;
  };
  double low = 0, high = psi(std::numeric_limits<double>::max());
  while (true) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    (psi(constants.b2 * middle) > middle ? low : high) = middle;
  }
}

RiskBound refined_excess_risk_bound(const Vector<double>& eigenvalues, double c, const RiskSetting& setting,
                                    const RefinedConstants& constants) {
  require(setting.loss == RiskLoss::lipschitz && setting.outputs.size() == 1,
          "refined_excess_risk_bound: only for a Lipschitz loss and one output");
  require(constants.D > 1 && std::isfinite(constants.D), "theory: D must be above 1 and finite, found {}", constants.D);
  require_positive("B", constants.B);
  require_positive("C3", constants.C3);
  const double fixed_point = local_fixed_point(eigenvalues, setting, constants);
  const double factor = constants.D / (constants.D - 1), M = outputs_of(setting.outputs).norm;
  const double log_chance = -std::log1p(-setting.probability), n = static_cast<double>(eigenvalues.size());
  RiskBound out{};
  out.approximation = factor * approximation(critical_radius(eigenvalues), c, setting, M);
  out.generalization = 12 * constants.D / constants.B * fixed_point + 2 * constants.C3 / n * log_chance;
  out.value = out.approximation + out.generalization;
  out.probability = setting.probability;
  out.note = "not proven as a number: the theorem's constants are not in print, these are the caller's";
  return out;
}

Index sketch_components_needed(const CriticalRadius& spectrum, double density) {
  check(spectrum);
  check_density(density);
  const double isometry = C0 * static_cast<double>(spectrum.statistical_dimension) / (density * density);
  const double tail = static_cast<double>(spectrum.n) * spectrum.squared();
  const double needed = std::ceil(std::max({isometry, tail, 1.0}));
  require(needed < 1e18, "theory: density {} asks for more components than can be counted", density);
  return static_cast<Index>(needed);
}

double sketch_failure(Index n_components, double density, Entries entries) {
  check_density(density);
  require(n_components > 0, "theory: n_components must be positive, found {}", n_components);
  const auto s = static_cast<double>(n_components);
  const double isometry = density * density * net_factor * net_factor / 1024, rate = concentration(entries);
  const double tail = std::sqrt(rate * density * std::log(5.0)) + rate * density / 4;
  return std::min(1.0, 2 * std::exp(-isometry * s) + std::exp(-tail * s));
}

double expected_anchors(Index n, Index n_components, double density) {
  check_density(density);
  return -static_cast<double>(n) * std::expm1(static_cast<double>(n_components) * std::log1p(-density));
}

SketchSuggestion suggest_sketch(const CriticalRadius& spectrum) {
  const Index n = spectrum.n;
  const double usual_density = std::min(1.0, static_cast<double>(sketches::usual_entries) / static_cast<double>(n));
  SketchSuggestion out{
      .spectrum = spectrum,
      .proved = size_of(n, sketch_components_needed(spectrum, fewest_anchors_density), fewest_anchors_density, true),
      .practical = size_of(n, gaussian_components(spectrum), usual_density, false),
      .text = {}};
  out.text = describe(out);
  return out;
}

}  // namespace carmina::theory
