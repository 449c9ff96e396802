// models/choose/metrics.cpp -- a factor for each input by evidence, a matrix from gradients.
#include "models/choose/exact_evidence.hpp"
#include "models/choose/trials.hpp"

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

// Unless asked, factors are learnt for so many inputs at most, and from so many rows for each.
constexpr Index most_factors = 256;
constexpr double rows_for_a_factor = 3;
constexpr const char* per_input_metric = "per input";
constexpr Steps few_steps{0.5, 1.0, 0.4, 5};

// Kernels of a family with factors for the inputs.
struct Learning {
  Setting setting;
  LearntWidths widths;

  void learn(const Trials& trials, const ChoiceRows& rows, Index steps) {
    const SearchSpace& space = trials.space();
    widths = widths_by_evidence(rows, setting.scalar(), widths, space.alpha.has_value(), space.least_alpha, steps,
                                trials.execution());
  }

  // The factors in a metric, the largest being 1.
  Setting scaled() const {
    Setting out = setting;
    const double largest = widths.factors.maxCoeff();
    out.P = (widths.factors / largest).asDiagonal();
    out.width /= largest;
    out.alpha = widths.alpha;
    return out;
  }
};

// For each family on few rows, where steps cost little, from a wide kernel or, with the same distance, from where the
// first one went; on all for the two that explain them best; the rows left out decide between these.
std::optional<TriedSetting> by_evidence(Trials& trials, const ChoiceRows& rows, double median) {
  const SearchSpace& space = trials.space();
  const auto d = static_cast<double>(rows.Z.cols());
  const ChoiceRows few = hashed_sample(rows, std::clamp(12 * d, 200.0, 500.0));
  std::vector<Learning> found;
  for (const auto& [kernel, parameters] : space.families) {
    Learning learning{{kernel, parameters}, {Vector<double>::Ones(rows.Z.cols()), space.alpha.value_or(0.1), 0}};
    learning.setting.metric = per_input_metric;
    learning.setting.width = 1.5 * (euclidean(learning.setting) ? 1.0 : std::sqrt(d)) * median;
    found.push_back(std::move(learning));
  }
  const FamilyWaves waves(space);
  trials.side_by_side(waves.first.size(),
                      [&](std::size_t task, Trials& own) { found[waves.first[task]].learn(own, few, 25); });
  trials.side_by_side(waves.second.size(), [&](std::size_t task, Trials& own) {
    Learning& learning = found[waves.second[task]];
    const bool from_first = std::isfinite(found[0].widths.evidence);
    if (from_first) {
      const Setting& first = found[0].setting;
      learning.setting.width = first.width * first_width(learning.setting.scalar()) / first_width(first.scalar());
      learning.widths = found[0].widths;
    }
    learning.learn(own, few, from_first ? 8 : 25);
  });
  std::erase_if(found, [](const Learning& learning) { return !std::isfinite(learning.widths.evidence); });
  std::stable_sort(found.begin(), found.end(),
                   [](const Learning& a, const Learning& b) { return a.widths.evidence > b.widths.evidence; });
  if (found.size() > 2) found.resize(2);
  std::vector<TriedSetting> tried(found.size());
  trials.side_by_side(found.size(), [&](std::size_t task, Trials& own) {
    Learning& learning = found[task];
    if (few.rows() < rows.rows()) learning.learn(own, rows, 6);
    const Setting next = learning.scaled();
    tried[task] = own.polish(in_metric(rows, next.P), next, few_steps);
  });
  const auto best = std::min_element(tried.begin(), tried.end(), smaller_error);
  return best == tried.end() ? std::nullopt : std::optional(*best);
}

// In two rounds, from the gradients of a setting's fit.
TriedSetting by_gradients(Trials& trials, const ChoiceRows& rows, const TriedSetting& base, double median) {
  TriedSetting at = base, best = base;
  best.result.error = std::numeric_limits<double>::infinity();
  ChoiceRows seen = in_metric(rows, base.setting.P);
  for (int round = 0; round < 2 && at.error() <= 1.1 * best.error(); ++round) {
    Setting next = at.setting;
    next.metric = "learnt";
    next.P = gradient_metric(seen, at.setting.scalar(), at.result.coefficients, at.setting.P, trials.execution());
    seen = in_metric(rows, next.P);
    const double scale = median / trials.median_distance_of(seen);
    next.P *= scale;
    seen.Z *= scale;
    at = trials.polish(seen, next, few_steps);
    if (at.error() < best.error()) best = at;
  }
  return best;
}

}  // namespace

TriedSetting more_evidence(Trials& trials, const ChoiceRows& rows, const TriedSetting& found) {
  if (found.setting.metric != per_input_metric) return found;
  Learning learning{found.setting, {found.setting.P.diagonal(), found.setting.alpha, 0}};
  learning.setting.P = {};
  learning.learn(trials, rows, 6);
  if (!std::isfinite(learning.widths.evidence)) return found;
  std::vector<Setting> settings{learning.scaled()};
  for (const auto& [kernel, parameters] : trials.space().families) {
    Setting other = settings[0];
    other.kernel = kernel;
    other.parameters = parameters;
    if (euclidean(other) != euclidean(settings[0]) || other.text() == settings[0].text()) continue;
    other.width *= first_width(other.scalar()) / first_width(settings[0].scalar());
    settings.push_back(std::move(other));
  }
  const ChoiceRows seen = in_metric(rows, settings[0].P);
  TriedSetting best = found;
  for (const Setting& setting : settings) {
    TriedSetting trial = trials.evaluate_near(seen, setting);
    if (trial.error() < best.error()) best = std::move(trial);
  }
  return best;
}

std::optional<TriedSetting> best_metric(Trials& trials, const ChoiceRows& rows, const TriedSetting& plain,
                                        double part) {
  const SearchSpace& space = trials.space();
  std::optional<TriedSetting> best;
  if (space.metric == MetricRule::identity || rows.Z.cols() < 2 || !std::isfinite(plain.error())) return best;
  const double median = trials.median_distance_of(rows);
  // (A fold has its part of the weight to a row or so.)
  const bool enough = static_cast<double>(rows.Z.cols()) * rows_for_a_factor * part <= 1.01 * rows.weights.sum();
  if (space.per_input || (!space.metric_asked() && rows.Z.cols() <= most_factors && enough)) {
    best = by_evidence(trials, rows, median);
  }
  if (space.per_input) return best;
  std::vector<TriedSetting> from;
  if (euclidean(plain.setting)) from.push_back(plain);
  if (best && euclidean(best->setting) && best->error() < plain.error()) from.push_back(*best);
  trials.side_by_side(from.size(),
                      [&](std::size_t task, Trials& own) { from[task] = by_gradients(own, rows, from[task], median); });
  for (TriedSetting& trial : from) {
    if (!best || trial.error() < best->error()) best = std::move(trial);
  }
  return best;
}

}  // namespace carmina
