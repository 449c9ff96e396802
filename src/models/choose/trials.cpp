// models/choose/trials.cpp -- errors of settings, and steps in the logarithms of width and alpha.
#include "models/choose/trials.hpp"
#include "models/fit/summary.hpp"

#include <cmath>
#include <set>

namespace carmina {

double first_width(const ScalarKernel& kernel) {
  if (const auto* matern = std::get_if<Matern>(&kernel)) return matern->nu < 1 ? 2.0 : matern->nu < 2 ? 1.0 : 0.8;
  return std::holds_alternative<Laplacian>(kernel) ? 3.0 : 0.7;
}

FamilyWaves::FamilyWaves(const SearchSpace& space) {
  const auto manhattan = [&](std::size_t i) { return !space.kernel && space.families[i].first == Laplacian::name; };
  for (std::size_t i = 0; i < space.families.size(); ++i) {
    (i > 0 && manhattan(i) == manhattan(0) ? second : first).push_back(i);
  }
}

double Trials::median_distance_of(const ChoiceRows& rows) const {
  return median_distance(rows.Z, {rows.weights.begin(), rows.weights.end()}, execution_);
}

TriedSetting Trials::evaluate(const ChoiceRows& rows, const Setting& setting) {
  TriedSetting trial{setting, exact_errors(rows, setting.scalar(), setting.alpha, execution_), rows.weights.sum()};
  log_.push_back({setting.text(), setting.width, setting.metric, setting.alpha, "exact", trial.rows,
                  std::sqrt(trial.error()), false});
  return trial;
}

TriedSetting Trials::evaluate_near(const ChoiceRows& rows, const Setting& setting) {
  TriedSetting trial = evaluate(rows, setting);
  for (int i = 0; i < 6 && !std::isfinite(trial.error()) && !space_.alpha; ++i) {
    Setting next = trial.setting;
    next.alpha *= 10;
    trial = evaluate(rows, next);
  }
  return trial;
}

TriedSetting Trials::polish(const ChoiceRows& rows, TriedSetting best, Steps steps) {
  int used = 1;
  std::set<std::pair<long, long>> seen;
  const auto unseen = [&](const Setting& s) {
    return seen.emplace(std::lround(1e4 * std::log(s.width)), std::lround(1e4 * std::log(s.alpha))).second;
  };
  unseen(best.setting);
  const auto attempt = [&](double width_factor, double alpha_factor) {
    if (used >= steps.most) return false;
    Setting next = best.setting;
    next.width *= width_factor;
    next.alpha *= alpha_factor;
    if (next.alpha < space_.least_alpha || next.alpha > 1e7 || !unseen(next)) return false;
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
  for (; steps.width >= steps.least && used < steps.most; steps.width /= 2, steps.alpha /= 2) {
    for (bool moved = true; moved && used < steps.most;) {
      moved = false;
      if (!space_.alpha) {
        const double f = std::exp(steps.alpha);
        moved = along(1, f) || along(1, 1 / f) || moved;
      }
      if (!space_.width) {
        const double f = std::exp(steps.width);
        moved = along(f, 1) || along(1 / f, 1) || moved;
      }
    }
  }
  return best;
}

void Trials::side_by_side(std::size_t count, const std::function<void(std::size_t, Trials&)>& body) {
  execution_.checkpoint({"choice", static_cast<Index>(log_.size()), 0});
  if (count == 1) return body(0, *this);
  std::vector<ChoiceLog> logs(count);
  const Execution alone{1, execution_.memory_budget};
  parallel_for(static_cast<Index>(count), execution_.thread_count(), [&](Index task, int worker) {
    execution_.poll(worker);
    const auto i = static_cast<std::size_t>(task);
    Trials trials(space_, alone, logs[i]);
    body(i, trials);
  });
  for (const ChoiceLog& log : logs) log_.insert(log_.end(), log.begin(), log.end());
}

}  // namespace carmina
