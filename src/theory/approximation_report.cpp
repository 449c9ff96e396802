// theory/approximation_report.cpp -- random pairs of rows, their errors, and what they say about all pairs.
#include "features/operator_map.hpp"
#include "random/quantiles.hpp"
#include "theory/terms.hpp"

#include <carmina/random/philox.hpp>
#include <carmina/theory/approximation.hpp>

#include <algorithm>
#include <cmath>

namespace carmina::theory {
namespace {

// P(X <= hits), X binomial.
double binomial_cdf(Index hits, Index trials, double chance) {
  if (chance <= 0) return 1;
  if (chance >= 1) return hits >= trials ? 1 : 0;
  const auto n = static_cast<double>(trials);
  double sum = 0;
  for (Index i = 0; i <= hits; ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(chance) +
                    (n - k) * std::log1p(-chance));
  }
  return std::min(sum, 1.0);
}

// The chance at which P(X <= hits) is `level`; it falls as the chance grows.
double chance_at(Index hits, Index trials, double level) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (binomial_cdf(hits, trials, middle) > level ? low : high) = middle;
  }
  return (low + high) / 2;
}

Matrix<double> random_differences(ConstView<double> X, Index pairs, std::uint64_t seed) {
  const Random random(seed, Stream::rows);
  Matrix<double> deltas(pairs, X.cols());
  const auto pick = [&](Index i, std::uint32_t which, Index below) {
    const double u = random.uniform(static_cast<std::uint64_t>(i), which);
    return std::min(below - 1, static_cast<Index>(u * static_cast<double>(below)));
  };
  for (Index i = 0; i < pairs; ++i) {
    const Index left = pick(i, 0, X.rows());
    Index right = pick(i, 1, X.rows() - 1);
    if (right >= left) ++right;
    deltas.row(i) = X.row(left) - X.row(right);
  }
  return deltas;
}

double norm_at_zero(const Kernel& kernel, Index d) {
  const Index p = kernel.n_outputs(d).value_or(1);
  const Matrix<double> zero = Matrix<double>::Zero(1, d);
  Matrix<double> block(p, p);
  OperatorMap<double>(kernel, zero, p).blocks(zero, block.data(), Execution{});
  return spectral_norm(block);
}

// Error ~ n^(-1/2), so n (error / wanted)^2, rounded up to an even number.
Index components_for(Index n_components, double ratio) {
  const double n = std::ceil(static_cast<double>(n_components) * ratio * ratio / 2);
  return 2 * static_cast<Index>(std::clamp(n, 1.0, 1e15));
}

const char* verdict(double relative) {
  if (relative <= 0.01) return "very close";
  if (relative <= 0.05) return "close";
  return relative <= 0.2 ? "rough" : "poor";
}

std::string in_words(const ApproximationReport& r) {
  const double percent = 100 * r.confidence;
  const double relative = r.rms_error / r.kernel_norm;
  std::string text = format_text(
      "With n_components = {}, the approximation is {} on these {} rows: over pairs of different rows it differs from "
      "the "
      "exact kernel by {:.3g} (root mean square; {:g} % interval {:.3g} to {:.3g}, from {} random pairs), which is "
      "{:.2g} % of "
      "the kernel's norm at distance 0, {:.3g}. The largest difference seen is {:.3g}. {:.1f} % of the pairs are "
      "within "
      "{:.3g} ({:g} % interval {:.1f} % to {:.1f} %). The error falls with the root of n_components: about {} would "
      "halve it",
      r.n_components, verdict(relative), r.rows, r.rms_error, percent, r.rms_interval.low, r.rms_interval.high, r.pairs,
      100 * relative, r.kernel_norm, r.max_error, 100 * r.within, r.tolerance, percent, 100 * r.within_interval.low,
      100 * r.within_interval.high, r.n_components_to_halve);
  if (r.rms_error > r.tolerance) {
    text += format_text(", about {} would bring it to {:.3g}", r.n_components_for_tolerance, r.tolerance);
  }
  return text + ".";
}

}  // namespace

Interval clopper_pearson(Index hits, Index trials, double confidence) {
  require(trials > 0 && hits >= 0 && hits <= trials, "clopper_pearson: {} hits in {} trials", hits, trials);
  require(confidence > 0 && confidence < 1, "confidence must be between 0 and 1, found {}", confidence);
  const double tail = (1 - confidence) / 2;
  return {hits == 0 ? 0.0 : chance_at(hits - 1, trials, 1 - tail),
          hits == trials ? 1.0 : chance_at(hits, trials, tail)};
}

ApproximationReport approximation_report(const Kernel& kernel, const Matrix<double>& frequencies, ConstView<double> X,
                                         const ReportOptions& options, const Execution& execution) {
  require(X.rows() >= 2, "approximation_report: pairs need two rows at least, found {}", X.rows());
  require(options.pairs >= 10, "approximation_report: at least 10 pairs are needed for an interval, found {}",
          options.pairs);
  require(options.tolerance >= 0 && std::isfinite(options.tolerance),
          "approximation_report: tolerance must not be negative, found {}", options.tolerance);
  require(options.confidence > 0 && options.confidence < 1,
          "approximation_report: confidence must be between 0 and 1, found {}", options.confidence);
  const Vector<double> errors =
      block_errors(kernel, frequencies, random_differences(X, options.pairs, options.seed), execution);

  ApproximationReport out;
  const auto n = static_cast<double>(options.pairs);
  out.rows = X.rows();
  out.pairs = options.pairs;
  out.n_components = 2 * frequencies.rows() / static_cast<Index>(kernel.terms().size());
  out.confidence = options.confidence;
  out.kernel_norm = norm_at_zero(kernel, X.cols());
  require(out.kernel_norm > 0, "approximation_report: the kernel is zero");
  out.max_error = errors.maxCoeff();

  // Pairs are independent draws, so the mean of squared errors is about normal.
  const Vector<double> squares = errors.cwiseAbs2();
  const double mean = squares.mean();
  const double standard_error = std::sqrt((squares.array() - mean).square().sum() / (n - 1) / n);
  const double reach = normal_quantile((1 + options.confidence) / 2) * standard_error;
  out.rms_error = std::sqrt(mean);
  out.rms_interval = {std::sqrt(std::max(0.0, mean - reach)), std::sqrt(mean + reach)};

  out.tolerance = options.tolerance > 0 ? options.tolerance : out.kernel_norm / 20;
  const auto hits = static_cast<Index>((errors.array() <= out.tolerance).count());
  out.within = static_cast<double>(hits) / n;
  out.within_interval = clopper_pearson(hits, options.pairs, options.confidence);
  out.n_components_to_halve = components_for(out.n_components, 2);
  out.n_components_for_tolerance = components_for(out.n_components, out.rms_error / out.tolerance);
  out.text = in_words(out);
  return out;
}

}  // namespace carmina::theory
