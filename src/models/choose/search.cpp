// models/choose/search.cpp -- the order of a search: families, scaling, metrics, all rows.
#include "models/choose/search.hpp"
#include "models/choose/left_out_groups.hpp"
#include "models/choose/missing_choice.hpp"
#include "models/choose/trials.hpp"

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

constexpr double coarse_rows = 300, search_rows = 600;
constexpr double first_alpha = 0.03;  // of a variance: where the search begins
constexpr double gain_of_alternative = 0.98;

TriedSetting best_family(Trials& trials, const ChoiceRows& rows) {
  const SearchSpace& space = trials.space();
  const ChoiceRows some = hashed_sample(rows, coarse_rows);
  const double median = trials.median_distance_of(some);
  const auto start = [&](std::size_t family, double moved, double alpha) {
    Setting setting{space.families[family].first, space.families[family].second};
    setting.given = space.kernel;
    setting.width = space.width ? *space.width : moved * first_width(setting.scalar()) * median;
    setting.alpha = space.alpha.value_or(alpha);
    return setting;
  };
  std::vector<TriedSetting> found(space.families.size());
  const FamilyWaves waves(space);
  trials.side_by_side(waves.first.size(), [&](std::size_t task, Trials& own) {
    const std::size_t family = waves.first[task];
    found[family] = own.polish(some, start(family, 1, first_alpha), {std::log(2.5), std::log(6.0), 0.4, 16});
  });
  // Where the first family went, those with the same distance begin.
  const Setting first = found[0].setting;
  const double moved = space.width ? 1 : first.width / (first_width(first.scalar()) * median);
  trials.side_by_side(waves.second.size(), [&](std::size_t task, Trials& own) {
    const std::size_t family = waves.second[task];
    found[family] = own.polish(some, start(family, moved, first.alpha), {0.55, 1.1, 0.4, 10});
  });
  std::stable_sort(found.begin(), found.end(), smaller_error);
  // The best and what is near it, on all of these rows.
  std::size_t finals = 1;
  if (found.size() > 1 && found[1].error() <= 1.1 * found[0].error()) finals = 2;
  found.resize(finals);
  trials.side_by_side(finals, [&](std::size_t task, Trials& own) {
    found[task] = own.polish(rows, found[task].setting, {0.45, 0.9, 0.22, 8});
  });
  return *std::min_element(found.begin(), found.end(), smaller_error);
}

// The mean difference of squared errors is above its standard error; rows of a group are not independent, their sums
// are.
bool clearly_better(const Vector<double>& a, const Vector<double>& b, const ChoiceRows& rows) {
  const Vector<double> gain = b - a;
  const double total = rows.weights.sum(), mean = gain.dot(rows.weights) / total;
  if (rows.groups.empty()) {
    const double variance = (gain.array() - mean).square().matrix().dot(rows.weights) / total;
    return mean > std::sqrt(variance / total);
  }
  double squares = 0;
  for (const std::vector<Index>& group : members_of(rows.groups)) {
    double sum = 0;
    for (const Index i : group) sum += rows.weights[i] * (gain[i] - mean);
    squares += sum * sum;
  }
  return mean > std::sqrt(squares) / total;
}
bool clearly_better(const TriedSetting& a, const TriedSetting& b, const ChoiceRows& rows) {
  if (!std::isfinite(a.error()) || !std::isfinite(b.error())) return a.error() < b.error();
  return clearly_better(a.result.squares, b.result.squares, rows);
}

}  // namespace

std::vector<std::pair<std::string, KernelParameters>> automatic_families() {
  return {{"matern", {{"nu", 1.5}}},
          {"matern", {{"nu", 0.5}}},
          {"matern", {{"nu", 2.5}}},
          {"gaussian", {}},
          {"laplacian", {}}};
}

ChoiceRows in_metric(const ChoiceRows& rows, const Matrix<double>& P) {
  ChoiceRows seen = rows;
  if (P.size() > 0) seen.Z = rows.Z * P;
  return seen;
}

SearchResult search_settings(const ChoiceRows& rows, const Matrix<double>* alternative, const SearchSpace& space,
                             const Execution& execution, ChoiceLog& log) {
  Trials trials(space, execution, log);
  const std::vector<Index> numbers = hashed_rows(rows, search_rows * rows_for_one(rows));
  ChoiceRows some = rows.at(numbers);
  SearchResult found{best_family(trials, some)};
  if (alternative) {
    ChoiceRows others = some;
    others.Z = (*alternative)(numbers, Eigen::all);
    TriedSetting trial = trials.polish(others, found.best.setting, {0.55, 1.1, 0.22, 12});
    if (trial.error() < gain_of_alternative * found.best.error() && clearly_better(trial, found.best, some)) {
      found = {std::move(trial), true};
      some = std::move(others);
    }
  }
  std::optional<TriedSetting> metric = best_metric(trials, some, found.best);
  const bool more = some.rows() < rows.rows();
  if (metric && metric_needs_check(rows) && std::isfinite(metric->error()) &&
      (space.metric_asked() || clearly_better(*metric, found.best, some))) {
    const Vector<double> unseen = unseen_squares(trials, some, found.best);
    if (space.metric_asked() || clearly_better(unseen, found.best.result.squares, some)) {
      found.optimism_rows = some.weights.sum();
      found.optimism = std::max(1.0, unseen.dot(some.weights) / (found.optimism_rows * metric->error()));
    } else {
      metric.reset();
    }
  }
  if (more) {  // decided on all rows
    some = rows;
    if (found.alternative) some.Z = *alternative;
    found.best = trials.evaluate_near(some, found.best.setting);
    if (metric) metric = trials.evaluate_near(in_metric(some, metric->setting.P), metric->setting);
  }
  if (metric && (space.metric_asked() || clearly_better(*metric, found.best, some))) {
    found.best = std::move(*metric);
  } else {
    found.optimism = 1;
  }
  if (more) found.best = more_evidence(trials, some, found.best);
  if (more) found.best = trials.polish(in_metric(some, found.best.setting.P), found.best, {0.3, 0.7, 0.3, 4});
  return found;
}

}  // namespace carmina
