// models/mixture/structural_climb.cpp -- weights of a level and of a season by few coordinates, and the chain rule.
#include "models/mixture/structural_climb.hpp"
#include "models/mixture/series_period.hpp"

#include <carmina/core/error.hpp>

#include <cmath>

namespace carmina {
namespace {

constexpr double widest_level = 0.1;   // the smallest width of a level's components, in cycles of the range
constexpr double level_octaves = 3.5;  // between two of them
constexpr Index most_harmonics = 128;  // of a season
constexpr double most_terms = 1.5e6;   // lags times harmonics: what a table of covariances may cost
constexpr double steady_width = 0.02;  // of a season that does not change, in cycles of the range
constexpr double least_weight = 1e-7;  // of a component, in the variance of the series

}  // namespace

std::string StructuralForm::text() const {
  std::string out = walk ? "a random walk" : "a level";
  if (period > 0) out += format_text(" and a season of {:.6g}", period);
  if (linear) out += " and a line";
  return out;
}

std::vector<StructuralForm> structural_forms(double period, const std::vector<bool>& trends) {
  std::vector<StructuralForm> forms;
  for (std::size_t k = 0; k < trends.size(); ++k) {
    const bool linear = trends[k];
    forms.push_back({period, linear, false});
    if (k > 0) continue;
    forms.push_back({0, linear, true});
    if (period > 0) forms.push_back({period, linear, true});
  }
  return forms;
}

// Components in this order: level; steady season; changing season. `by_power` are d log w / d b of the level and
// d log w / d c of a season's harmonics.
struct StructuralClimb::Parts {
  Mixture mixture;
  double noise = 0;
  Index levels = 0, harmonics = 0;
  Vector<double> level_by_power, season_by_power;
};

namespace {

// w_k = total v_k^-power / sum, and d log w_k / d power.
Vector<double> power_weights(const Vector<double>& v, double total, double power, Vector<double>& by_power) {
  const Eigen::ArrayXd logs = v.array().log();
  Eigen::ArrayXd w = (-power * (logs - logs.minCoeff())).exp();
  w /= w.sum();
  by_power = (w * logs).sum() - logs;
  return total * w;
}

}  // namespace

StructuralClimb::StructuralClimb(const Times& times, const SpectralMixtureOptions& options, bool linear)
    : times_(times),
      family_(options.family),
      most_steps_(std::min(options.max_iter, structural_steps)),
      tol_(options.tol),
      quiet_(options.execution),
      beside_(linear || options.fit_intercept ? trend_component(times.range(), linear) : Mixture{}),
      evidence_(times.x, times.y, beside_, [&] {
        quiet_.progress = {};  // an evaluation is one of many
        return quiet_;
      }()) {}

Vector<double> StructuralClimb::start(const StructuralForm& form) const {
  std::vector<double> at{std::log(0.3)};
  if (!form.walk) at.push_back(1);
  if (form.period > 0) at.insert(at.end(), {std::log(0.2), std::log(0.1), 1, std::log(0.3)});
  at.push_back(std::log(0.1));
  return Eigen::Map<const Vector<double>>(at.data(), static_cast<Index>(at.size()));
}

StructuralClimb::Parts StructuralClimb::parts(const StructuralForm& form, const Vector<double>& at) const {
  const double range = times_.range(), step = usual_step(times_.x), narrowest = std::max(1.0, 0.25 * range / step);
  Parts out;
  out.levels = 2 + static_cast<Index>(std::log(narrowest / widest_level) / std::log(level_octaves));
  if (form.period > 0) {
    const double by_cost = std::max(4.0, most_terms / static_cast<double>(evidence_.lags()));
    const double seen = std::max(1.0, form.period / (2 * step) + 1e-6);
    out.harmonics = static_cast<Index>(std::min({static_cast<double>(most_harmonics), by_cost, seen}));
  }
  const Index L = out.levels, H = out.harmonics, season = form.walk ? 1 : 2;
  Mixture& mixture = out.mixture;
  mixture = {Vector<double>(L + 2 * H), Matrix<double>::Zero(L + 2 * H, 1), Matrix<double>(L + 2 * H, 1), family_};
  Vector<double> widths(L);
  for (Index j = 0; j < L; ++j) {
    widths[j] = widest_level * std::pow(narrowest / widest_level, static_cast<double>(j) / static_cast<double>(L - 1));
  }
  mixture.scales.col(0).head(L) = widths / range;
  mixture.weights.head(L) = power_weights(widths, std::exp(at[0]), form.walk ? 1 : at[1], out.level_by_power);
  if (H > 0) {
    const Vector<double> h = Vector<double>::LinSpaced(H, 1, static_cast<double>(H));
    for (const Index part : {0, 1}) {
      mixture.weights.segment(L + part * H, H) =
          power_weights(h, std::exp(at[season + part]), at[season + 2], out.season_by_power);
      mixture.means.col(0).segment(L + part * H, H) = h / form.period;
    }
    mixture.scales.col(0).segment(L, H).setConstant(steady_width / range);
    mixture.scales.col(0).tail(H).setConstant(std::exp(at[season + 3]) / range);
  }
  out.noise = std::exp(at[at.size() - 1]);
  return out;
}

double StructuralClimb::value(const StructuralForm& form, const Vector<double>& at, Vector<double>* gradient) const {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  if (!at.allFinite() || at.cwiseAbs().maxCoeff() > 50) return lowest;
  const Parts now = parts(form, at);
  const MixtureEvidence found = evidence_(now.mixture, now.noise, gradient != nullptr, quiet_);
  if (!std::isfinite(found.value)) return lowest;
  const Index L = now.levels, H = now.harmonics, season = form.walk ? 1 : 2, noise = at.size() - 1;
  double value = found.value;
  if (gradient) {
    Vector<double>& g = *gradient;
    g.setZero(at.size());
    const Vector<double> by_log = found.by_mixture.weights.cwiseProduct(now.mixture.weights);
    g[0] = by_log.head(L).sum();
    if (!form.walk) g[1] = by_log.head(L).dot(now.level_by_power);
    if (H > 0) {
      g[season] = by_log.segment(L, H).sum();
      g[season + 1] = by_log.tail(H).sum();
      g[season + 2] = (by_log.segment(L, H) + by_log.tail(H)).dot(now.season_by_power);
      g[season + 3] = found.by_mixture.scales.col(0).tail(H).dot(now.mixture.scales.col(0).tail(H));
    }
    g[noise] = found.by_noise * now.noise;
  }
  const auto near = [&](Index k, double place, double deviation) {
    const double away = (at[k] - place) / deviation;
    value -= away * away / 2;
    if (gradient) (*gradient)[k] -= away / deviation;
  };
  const auto keep_within = [&](Index k, double least, double most) {
    constexpr double strength = 4;
    const double beyond = at[k] < least ? at[k] - least : at[k] > most ? at[k] - most : 0;
    value -= strength / 2 * beyond * beyond;
    if (gradient) (*gradient)[k] -= strength * beyond;
  };
  const double smallest = std::log(1e-5), largest = std::log(1e3);
  keep_within(0, smallest, largest);
  keep_within(noise, smallest, largest);
  if (!form.walk) near(1, 1, 1.5), keep_within(1, -4, 5);
  if (form.period > 0) {
    keep_within(season, smallest, largest);
    keep_within(season + 1, smallest, largest);
    near(season + 2, 1, 1), keep_within(season + 2, -4, 5);
    near(season + 3, std::log(0.3), 1.5), keep_within(season + 3, -4, 5);
  }
  return value;
}

Climbed StructuralClimb::from(const StructuralForm& form, const Vector<double>& at, const SavedLoop& saved,
                              const AscentStep& on_step) const {
  const auto value_at = [&](const Vector<double>& point, Vector<double>* gradient) {
    return value(form, point, gradient);
  };
  Climbed out;
  out.beside = beside_;
  out.ascent = lbfgs_ascent(value_at, at.size() > 0 ? at : start(form), {most_steps_, tol_, false, saved}, on_step);
  const Parts found = parts(form, out.ascent.at);
  // Components that are nothing beside the others are left out of what predicts.
  std::vector<Index> kept;
  for (Index q = 0; q < found.mixture.size(); ++q) {
    if (found.mixture.weights[q] > least_weight || q == 0) kept.push_back(q);
  }
  const Mixture& all = found.mixture;
  out.mixture = {all.weights(kept), all.means(kept, Eigen::all), all.scales(kept, Eigen::all), family_};
  out.noise = found.noise;
  out.evidence = evidence_(out.mixture, out.noise, false, quiet_).value;
  return out;
}

}  // namespace carmina
