// models/choose/search.cpp -- steps in the logarithms of width and alpha, families, metrics.
#include "models/choose/search.hpp"
#include "models/choose/exact_evidence.hpp"
#include "models/fit/summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace carmina {
namespace {

constexpr double coarse_rows = 400, search_rows = 1000;
constexpr Index most_factors = 256;  // inputs that factors are learnt for, unless asked
constexpr double gain_of_alternative = 0.98;
constexpr double first_alpha = 0.03;  // of a variance: where the search begins

// Widths, in median distances, that the search of a family begins with.
double first_width(const ScalarKernel& kernel) {
  if (const auto* matern = std::get_if<Matern>(&kernel)) return matern->nu < 1 ? 2.0 : matern->nu < 2 ? 1.0 : 0.8;
  return std::holds_alternative<Laplacian>(kernel) ? 3.0 : 0.7;
}

double median_of(const ChoiceRows& rows, const Execution& execution) {
  return median_distance(rows.Z, {rows.weights.begin(), rows.weights.end()}, execution);
}

class Search {
 public:
  Search(const SearchSpace& space, const Execution& execution, ChoiceLog& log)
      : space_(space), execution_(execution), log_(log) {}

  TriedSetting evaluate(const ChoiceRows& rows, const Setting& setting) {
    TriedSetting trial{setting, exact_errors(rows, setting.scalar(), setting.alpha, execution_), rows.weights.sum()};
    log_.push_back({setting.text(), setting.width, setting.metric, setting.alpha, "exact", trial.rows,
                    std::sqrt(trial.error()), false});
    return trial;
  }

  // Pattern search from a setting: a step in one of the two logarithms that helps is taken again; when none does, steps
  // are halved. `rows` are in the setting's metric.
  TriedSetting polish(const ChoiceRows& rows, const Setting& start, double width_step, double alpha_step,
                      double least_step, int most) {
    TriedSetting best = evaluate(rows, start);
    int used = 1;
    for (; !std::isfinite(best.error()) && !space_.alpha && used < most; ++used) {  // singular: away from it
      Setting next = best.setting;
      next.alpha *= 10;
      best = evaluate(rows, next);
    }
    std::map<std::pair<long, long>, bool> seen;
    const auto key = [](const Setting& s) {
      return std::pair(std::lround(1e4 * std::log(s.width)), std::lround(1e4 * std::log(s.alpha)));
    };
    seen[key(start)] = true;
    const auto attempt = [&](double width_factor, double alpha_factor) {
      if (used >= most) return false;
      Setting next = best.setting;
      next.width *= width_factor;
      next.alpha *= alpha_factor;
      if (next.alpha < space_.least_alpha || next.alpha > 1e7 || seen[key(next)]) return false;
      seen[key(next)] = true;
      ++used;
      TriedSetting trial = evaluate(rows, next);
      if (!(trial.error() < best.error() * (1 - 1e-4))) return false;
      best = std::move(trial);
      return true;
    };
    const auto along = [&](double width_factor, double alpha_factor) {
      bool moved = false;
      while (attempt(width_factor, alpha_factor)) moved = true;
      return moved;
    };
    for (; width_step >= least_step && used < most; width_step /= 2, alpha_step /= 2) {
      for (bool moved = true; moved && used < most;) {
        moved = false;
        if (!space_.alpha) {
          const double f = std::exp(alpha_step);
          moved = along(1, f) || along(1, 1 / f) || moved;
        }
        if (!space_.width) {
          const double f = std::exp(width_step);
          moved = along(f, 1) || along(1 / f, 1) || moved;
        }
      }
    }
    return best;
  }

  TriedSetting families(const ChoiceRows& rows) {
    const ChoiceRows some = hashed_sample(rows, coarse_rows);
    const double median = median_of(some, execution_);
    std::vector<TriedSetting> found;
    double moved = 1, alpha = first_alpha;  // where the first family went, the others begin
    for (const auto& [kernel, parameters] : space_.families) {
      Setting start{kernel, parameters};
      start.given = space_.kernel;
      start.width = space_.width ? *space_.width : moved * first_width(start.scalar()) * median;
      start.alpha = space_.alpha.value_or(alpha);
      const double reach = found.empty() ? 1 : 0.6;
      found.push_back(polish(some, start, reach * std::log(2.5), reach * std::log(6.0), 0.4, found.empty() ? 16 : 10));
      const Setting& best = found[0].setting;
      if (!space_.width) moved = best.width / (first_width(best.scalar()) * median);
      alpha = best.alpha;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const TriedSetting& a, const TriedSetting& b) { return a.error() < b.error(); });
    if (some.rows() == rows.rows() && found.size() == 1) return refined(rows, found[0]);
    // The best and what is near it, on all of these rows.
    std::vector<TriedSetting> finals;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (finals.size() >= 2 || (i > 0 && found[i].error() > 1.1 * found[0].error())) break;
      finals.push_back(refined(rows, found[i]));
    }
    return *std::min_element(finals.begin(), finals.end(),
                             [](const TriedSetting& a, const TriedSetting& b) { return a.error() < b.error(); });
  }

  TriedSetting with_metric(const ChoiceRows& rows, const TriedSetting& plain) {
    if (space_.metric == MetricRule::identity || rows.Z.cols() < 2) return plain;
    const bool asked = space_.metric == MetricRule::learn || space_.per_input;
    const double median = median_of(rows, execution_);
    if (!std::isfinite(plain.error())) return plain;
    std::optional<TriedSetting> best;
    const auto consider = [&](std::optional<TriedSetting> trial) {
      if (trial && (!best || trial->error() < best->error())) best = std::move(trial);
    };
    if (space_.per_input || (!asked && rows.Z.cols() <= most_factors)) consider(by_evidence(rows, median));
    if (!space_.per_input) {
      const std::optional<TriedSetting> widths = best;
      if (euclidean(plain)) consider(by_gradients(rows, plain, median));
      if (widths && euclidean(*widths) && widths->error() < plain.error()) {
        consider(by_gradients(rows, *widths, median));
      }
    }
    return best && (asked || clearly_better(*best, plain, rows.weights)) ? *best : plain;
  }

 private:
  // One factor for each input by evidence: for each family on few rows, where steps cost little, from a wide kernel or,
  // with the same distance, from where the first one went; on more for the two that explain them best; the rows left
  // out decide between these.
  std::optional<TriedSetting> by_evidence(const ChoiceRows& rows, double median) {
    struct Learning {
      Setting setting;
      LearntWidths widths;
    };
    const auto d = static_cast<double>(rows.Z.cols());
    const ChoiceRows few = hashed_sample(rows, std::clamp(20 * d, 300.0, 500.0));
    std::vector<Learning> found;
    std::optional<Learning> first;
    for (const auto& [kernel, parameters] : space_.families) {
      Learning learning{{kernel, parameters}, {Vector<double>::Ones(rows.Z.cols()), space_.alpha.value_or(0.1), 0}};
      learning.setting.metric = "per input";
      const bool manhattan = std::holds_alternative<Laplacian>(learning.setting.scalar());
      learning.setting.width = 1.5 * (manhattan ? std::sqrt(d) : 1.0) * median;
      Index steps = 40;
      if (first && !manhattan) {
        const Setting& before = first->setting;
        learning.setting.width =
            before.width * first_width(learning.setting.scalar()) / first_width(before.scalar());
        learning.widths = first->widths;
        steps = 15;
      }
      learning.widths = learn(few, learning.setting, learning.widths, steps);
      if (!std::isfinite(learning.widths.evidence)) continue;
      if (!first && !manhattan) first = learning;
      found.push_back(std::move(learning));
    }
    std::stable_sort(found.begin(), found.end(), [](const Learning& a, const Learning& b) {
      return a.widths.evidence > b.widths.evidence;
    });
    if (found.size() > 2) found.resize(2);
    std::optional<TriedSetting> best;
    for (Learning& learning : found) {
      if (few.rows() < rows.rows()) learning.widths = learn(rows, learning.setting, learning.widths, 8);
      Setting next = learning.setting;
      const double largest = learning.widths.factors.maxCoeff();
      next.P = (learning.widths.factors / largest).asDiagonal();
      next.width /= largest;
      next.alpha = learning.widths.alpha;
      TriedSetting trial = polish(in_metric(rows, next.P), next, 0.5, 1.0, 0.4, 5);
      if (!best || trial.error() < best->error()) best = std::move(trial);
    }
    return best;
  }

  LearntWidths learn(const ChoiceRows& rows, const Setting& setting, const LearntWidths& start, Index steps) const {
    return widths_by_evidence(rows, setting.scalar(), start, space_.alpha.has_value(), space_.least_alpha, steps,
                              execution_);
  }

  // A full metric from gradients, in two rounds.
  std::optional<TriedSetting> by_gradients(const ChoiceRows& rows, const TriedSetting& base, double median) {
    TriedSetting at = base;
    std::optional<TriedSetting> best;
    ChoiceRows seen = in_metric(rows, base.setting.P);
    for (int round = 0; round < 2; ++round) {
      Setting next = at.setting;
      next.metric = "learnt";
      next.P = gradient_metric(seen, at.setting.scalar(), at.result.coefficients, at.setting.P, false, execution_);
      ChoiceRows moved = in_metric(rows, next.P);
      const double scale = median / median_of(moved, execution_);
      next.P *= scale;
      moved.Z *= scale;
      TriedSetting trial = polish(moved, next, 0.5, 1.0, 0.4, 5);
      at = std::move(trial);
      seen = std::move(moved);
      if (!best || at.error() < best->error()) best = at;
      if (at.error() > 1.1 * best->error()) break;
    }
    return best;
  }

  static bool euclidean(const TriedSetting& setting) {
    return !std::holds_alternative<Laplacian>(setting.setting.scalar());
  }

  TriedSetting refined(const ChoiceRows& rows, const TriedSetting& coarse) {
    return polish(rows, coarse.setting, 0.45, 0.9, 0.22, 8);
  }

  // The mean difference of squared errors is above its standard error.
  static bool clearly_better(const TriedSetting& a, const TriedSetting& b, const Vector<double>& weights) {
    const Vector<double> gain = b.result.squares - a.result.squares;
    const double total = weights.sum(), mean = gain.dot(weights) / total;
    const double variance = (gain.array() - mean).square().matrix().dot(weights) / total;
    return mean > std::sqrt(variance / total);
  }

  const SearchSpace& space_;
  const Execution& execution_;
  ChoiceLog& log_;
};

}  // namespace

std::vector<std::pair<std::string, KernelParameters>> automatic_families() {
  return {{"matern", {{"nu", 1.5}}}, {"matern", {{"nu", 0.5}}}, {"matern", {{"nu", 2.5}}}, {"gaussian", {}}, {"laplacian", {}}};
}

ChoiceRows in_metric(const ChoiceRows& rows, const Matrix<double>& P) {
  return {P.size() == 0 ? rows.Z : Matrix<double>(rows.Z * P), rows.Y, rows.weights, rows.intercept};
}

SearchResult search_settings(const ChoiceRows& rows, const Matrix<double>* alternative, const SearchSpace& space,
                             const Execution& execution, ChoiceLog& log) {
  Search search(space, execution, log);
  const std::vector<Index> numbers = hashed_rows(rows, search_rows);
  ChoiceRows some = rows.at(numbers);
  SearchResult found{search.families(some)};
  if (alternative) {
    ChoiceRows others = some;
    others.Z = (*alternative)(numbers, Eigen::all);
    TriedSetting trial = search.families(others);
    if (trial.error() < gain_of_alternative * found.best.error()) {
      found = {std::move(trial), true};
      some = std::move(others);
    }
  }
  found.best = search.with_metric(some, found.best);
  if (some.rows() < rows.rows()) {
    ChoiceRows all = rows;
    if (found.alternative) all.Z = *alternative;
    found.best = search.polish(in_metric(all, found.best.setting.P), found.best.setting, 0.3, 0.7, 0.3, 4);
  }
  return found;
}

}  // namespace carmina
