// models/tune/tune_grid.cpp -- widths and alphas to try, and where their lists go on.
#include "models/tune/tune_grid.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

// change(width) for the width of every term that has one.
template <class F>
Kernel with_widths(const Kernel& kernel, F change) {
  std::vector<Term> terms = kernel.terms();
  for (Term& term : terms) term.scalar = carmina::with_widths(std::move(term.scalar), change);
  return Kernel(std::move(terms));
}

}  // namespace

bool has_width(const Kernel& kernel) {
  return std::any_of(kernel.terms().begin(), kernel.terms().end(),
                     [](const Term& term) { return has_width(term.scalar); });
}

TriedKernel widened(const Kernel& kernel, double factor) {
  return {with_widths(kernel,
                      [&](const LengthScale& width) {
                        std::vector<double> values = width.values();
                        for (double& value : values) value *= factor;
                        return LengthScale(std::move(values));
                      }),
          factor};
}

std::vector<TriedKernel> kernel_grid(const Kernel& kernel, const TuneOptions& options) {
  std::vector<TriedKernel> grid;
  if (!options.length_scales.empty()) {
    const ScalarKernel& scalar = kernel.terms()[0].scalar;
    require(has_width(kernel), "tune: the {} kernel has no length scale", kernel_name(scalar));
    require(kernel.terms().size() == 1 && is_stationary(scalar) && length_scale(scalar).isotropic(),
            "tune: length_scales are for a kernel of one width; a sum, a product, or one width per input, takes "
            "width_factors");
    for (const double width : options.length_scales) {
      grid.push_back({with_widths(kernel, [&](const LengthScale&) { return LengthScale(width); })});
    }
    return grid;
  }
  if (!has_width(kernel)) return {{kernel}};
  std::vector<double> factors = options.width_factors;
  if (factors.empty()) factors = usual_factors();
  for (const double factor : factors) grid.push_back(widened(kernel, factor));
  return grid;
}

std::vector<double> usual_factors() { return {0.25, 0.5, 1, 2, 4}; }

std::vector<double> default_alphas(const Loss& loss) {
  const bool squared = std::holds_alternative<Squared>(loss);
  const double step = squared ? 0.5 : 1, first = squared ? -6 : -4;
  std::vector<double> alphas;
  for (int i = 0; first + i * step <= 2; ++i) alphas.push_back(std::pow(10.0, first + i * step));
  return alphas;
}

std::size_t best_of(const std::vector<Trial>& trials) {
  const auto better = [](const Trial& a, const Trial& b) { return a.mean < b.mean || std::isnan(b.mean); };
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (better(trials[i], trials[best])) best = i;
  }
  return best;
}

std::vector<double> beyond(const std::vector<double>& list, double best, double step, int count, double farthest,
                           const std::vector<double>& began) {
  const auto [low, high] = std::minmax_element(list.begin(), list.end());
  if (*low == *high || (best != *low && best != *high)) return {};
  const auto [first, last] = std::minmax_element(began.begin(), began.end());
  if (best == *low) step = 1 / step;
  std::vector<double> more;
  for (int k = 1; k <= count; ++k) {
    const double value = best * std::pow(step, k);
    if (value * farthest * (1 + 1e-9) < *first || value > *last * farthest * (1 + 1e-9)) break;
    more.push_back(value);
  }
  return more;
}

std::string end_of_grid(const Trial& best, const std::vector<Trial>& trials) {
  std::string message;
  const auto say = [&](const char* what, double value, bool smallest) {
    message += format_text("{}the best {}, {:.6g}, is the {} tried", message.empty() ? "" : "; ", what, value,
                           smallest ? "smallest" : "largest");
  };
  std::vector<double> widths, alphas;
  for (const Trial& trial : trials) {
    const auto values = first_width(trial.kernel);
    if (!values.empty()) widths.push_back(values[0]);
    alphas.push_back(trial.alpha);
  }
  const auto [low, high] = std::minmax_element(alphas.begin(), alphas.end());
  if (*low < *high && (best.alpha == *low || best.alpha == *high)) say("alpha", best.alpha, best.alpha == *low);
  if (widths.empty()) return message;
  const double width = first_width(best.kernel)[0];
  const auto [narrow, wide] = std::minmax_element(widths.begin(), widths.end());
  if (*narrow < *wide && (width == *narrow || width == *wide)) say("length scale", width, width == *narrow);
  return message;
}

}  // namespace carmina
