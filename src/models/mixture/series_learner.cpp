// models/mixture/series_learner.cpp -- starts of a series, their ascent, their shares, and the bands.
#include "models/mixture/series_learner.hpp"
#include "models/mixture/rolling_origin.hpp"
#include "models/mixture/series_climb.hpp"
#include "models/mixture/series_period.hpp"
#include "models/mixture/structural_climb.hpp"
#include "models/plan/memory_plan.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace carmina {
namespace {

constexpr Index shortest_series = 20;   // rows
constexpr double early_part = 0.7;      // of the rows, before the first origin
constexpr double least_share = 0.01;    // of a member
constexpr Index usual_learning = 1000;  // rows
constexpr double held_matrices = 6;     // of the order of the rows, at once

// Shares by evidence: exp(evidence), of those that are not much less.
Vector<double> shares_of(const std::vector<Climbed>& all) {
  double best = -std::numeric_limits<double>::infinity();
  for (const Climbed& one : all) best = std::max(best, one.evidence);
  require(std::isfinite(best), "fit: the evidence is not finite at any start; scale inputs and targets");
  Vector<double> shares(static_cast<Index>(all.size()));
  for (Index k = 0; k < shares.size(); ++k) shares[k] = std::exp(all[static_cast<std::size_t>(k)].evidence - best);
  shares /= shares.sum();
  for (double& one : shares) one = one < least_share ? 0 : one;
  return shares / shares.sum();
}

class SeriesLearner {
 public:
  SeriesLearner(const Times& times, const SpectralMixtureOptions& options, Index learning_rows, bool combines,
                Checkpoint* checkpoint)
      : times_(times),
        options_(options),
        learning_rows_(learning_rows > 0 ? learning_rows : usual_learning),
        combines_(combines),
        checkpoint_(checkpoint) {}

  LearntMixture run() {
    LearntMixture learnt;
    const Index n = times_.x.size(), early = static_cast<Index>(early_part * static_cast<double>(n));
    const bool rolls = early >= shortest_series;
    fits_ = rolls ? 2 : 1;
    const bool combines = rolls && combines_;
    if (combines) plan_forms();
    std::vector<Climbed> all;
    {
      PhaseTimer timer(learnt.report, "learning");
      all = climb(times_, "start");
    }
    const Vector<double> by_evidence = shares_of(all);
    const auto best =
        static_cast<std::size_t>(std::max_element(by_evidence.begin(), by_evidence.end()) - by_evidence.begin());
    describe(all, by_evidence, best, learnt);
    Vector<double> shares = by_evidence;
    if (rolls) {
      PhaseTimer timer(learnt.report, "rolling origins");
      const Times past = times_.first(early, options_.fit_intercept);
      std::vector<Climbed> before = climb(past, "early start");
      const std::vector<Climbed> structural = climb_forms(past, {}, "early form");
      before.insert(before.end(), structural.begin(), structural.end());
      const Vector<double> found = roll(past, before, early, known_periods(all[best]), combines, learnt);
      if (combines && found.size() > 0) {
        const std::vector<Climbed> later = climb_forms(times_, structural, "form");
        all.insert(all.end(), later.begin(), later.end());
        shares = found;
        for (Index k = 0; k < shares.size(); ++k) {
          if (!std::isfinite(all[static_cast<std::size_t>(k)].evidence)) shares[k] = 0;
        }
        require(shares.sum() > 0, "fit: no member of the series has a finite evidence; scale inputs and targets");
        shares /= shares.sum();
        name_members(shares, all.size() - later.size(), learnt.report);
      }
    }
    {
      PhaseTimer timer(learnt.report, "posterior");
      for (std::size_t k = 0; k < all.size(); ++k) {
        const bool predicts = k < static_cast<std::size_t>(shares.size()) && shares[static_cast<Index>(k)] > 0;
        if (predicts || k == best) add_member(all[k], k == best, predicts, learnt);
      }
    }
    learnt.state.shares.resize(static_cast<Index>(learnt.state.members.size()));
    std::copy_if(shares.begin(), shares.end(), learnt.state.shares.begin(), [](double share) { return share > 0; });
    return learnt;
  }

 private:
  std::vector<bool> trends() const {
    if (options_.trend == Trend::automatic) return {false, true};
    return {options_.trend == Trend::linear};
  }

  std::vector<Climbed> climb(const Times& times, const char* name) {
    std::vector<Climbed> all;
    const Times some = times.in_runs(learning_rows_);
    for (const bool linear : trends()) {
      const SeriesClimb climb(some, times, options_, linear);
      for (Index start = 0; start < options_.n_starts; ++start) {
        const auto number = static_cast<Index>(all.size());
        const auto on_step = [&](Index step, double value) {
          options_.execution.checkpoint({"learning", done_ + step, total(), "step"});
          if (options_.on_step) options_.on_step(number, step, value);
        };
        all.push_back(climb.from(start, {checkpoint_, format_text("{} {}", name, number)}, on_step));
        done_ += series_steps(options_);
      }
    }
    return all;
  }
  Index total() const {
    return fits_ * (static_cast<Index>(trends().size()) * options_.n_starts * series_steps(options_) +
                    static_cast<Index>(forms_.size()) * structural_steps);
  }

  void plan_forms() {
    const double period = options_.periods.empty() ? recurring_period(times_.x, times_.y)
                                                   : recurring_period(times_.x, times_.y, options_.periods);
    forms_ = structural_forms(period, trends());
  }

  // From where the forms of `before` ended, if there are any.
  std::vector<Climbed> climb_forms(const Times& times, const std::vector<Climbed>& before, const char* name) {
    std::vector<Climbed> all;
    const Times some = times.in_runs(learning_rows_);
    std::optional<StructuralClimb> climb;  // forms of one trend follow each other
    for (std::size_t k = 0; k < forms_.size(); ++k) {
      if (k == 0 || forms_[k].linear != forms_[k - 1].linear) climb.emplace(some, options_, forms_[k].linear);
      const auto on_step = [&](Index step, double) {
        options_.execution.checkpoint({"learning", done_ + step, total(), "step"});
      };
      const Vector<double> at = before.empty() ? Vector<double>() : before[k].ascent.at;
      all.push_back(climb->from(forms_[k], at, {checkpoint_, format_text("{} {}", name, k)}, on_step));
      done_ += structural_steps;
    }
    return all;
  }

  void name_members(const Vector<double>& shares, std::size_t mixtures, SolveReport& report) const {
    std::string parts;
    double learnt = 0;
    for (Index k = 0; k < static_cast<Index>(mixtures); ++k) learnt += shares[k];
    const auto add = [&](const std::string& name, double share) {
      if (share > 0) parts += format_text("{}{} {:.0f} %", parts.empty() ? "" : ", ", name, 100 * share);
    };
    add("mixtures", learnt);
    for (std::size_t k = 0; k < forms_.size(); ++k) {
      add(forms_[k].text(), shares[static_cast<Index>(mixtures + k)]);
    }
    report.text += "; forecasts by the errors of earlier ones: " + parts;
  }

  // In the targets' own units; `predicts` false: its evidence alone.
  void add_member(const Climbed& one, bool is_best, bool predicts, LearntMixture& learnt) const {
    MixtureMember member{one.whole(), one.noise * times_.scale * times_.scale, {}};
    member.mixture.weights *= times_.scale * times_.scale;
    const Matrix<double> X = times_.x, Y = times_.y * times_.scale;
    member.process = exact_process(member.mixture, member.noise, X, Y, options_.execution);
    const Vector<double> diagonal = member.process.L.diagonal();
    const double evidence = -member.process.coefficients.cwiseProduct(Y).sum() / 2 - diagonal.array().log().sum() -
                            static_cast<double>(Y.rows()) / 2 * std::log(2 * std::numbers::pi);
    if (is_best) learnt.evidence = evidence;
    if (predicts) learnt.state.members.push_back(std::move(member));
  }

  void describe(const std::vector<Climbed>& all, const Vector<double>& shares, std::size_t best,
                LearntMixture& learnt) const {
    const double squared = times_.scale * times_.scale,
                 units = static_cast<double>(std::min(times_.x.size(), learning_rows_)) * std::log(times_.scale);
    const Climbed& chosen = all[best];
    SpectralParameters& at = learnt.parameters;
    at.mixture = chosen.mixture, at.mixture.weights *= squared;
    at.trend = chosen.beside;
    if (at.trend.size() > 0) at.trend.weights *= squared;
    at.noise = Vector<double>::Constant(1, chosen.noise * squared);
    at.coupling = options_.coupling;
    learnt.curve = chosen.ascent.values;
    for (const Climbed& one : all) learnt.start_evidences.push_back(one.evidence - units);
    SolveReport& report = learnt.report;
    report.solver = mixture_solver_name(MixtureSolver::lbfgs);
    report.iterations = chosen.ascent.iterations;
    report.objective = learnt.curve.empty() ? learnt.evidence : learnt.curve.back();
    report.status = SolveStatus::converged;
    report.reason = format_text("lbfgs: inference 'exact', a series of {} rows", times_.x.size());
    if (learning_rows_ < times_.x.size()) report.reason += format_text(", parameters learnt from {}", learning_rows_);
    double linear = 0;
    for (std::size_t k = 0; k < all.size(); ++k) linear += all[k].linear() ? shares[static_cast<Index>(k)] : 0;
    report.text = options_.trend == Trend::automatic
                      ? format_text("a linear trend has {:.0f} % of the evidence", 100 * linear)
                      : format_text("trend {}", trend_name(options_.trend));
  }

  // Those that were given; else, of the lines that the series shows three times or more, that of the largest weight,
  // and what the series comes back after.
  std::vector<double> known_periods(const Climbed& one) const {
    if (!options_.periods.empty()) return options_.periods;
    double weight = 0, period = 0;
    const double season = forms_.empty() ? 0 : forms_.front().period;
    for (Index q = 0; q < one.mixture.size(); ++q) {
      const double cycles = std::abs(one.mixture.means(q, 0)) * times_.range();
      if (cycles < 3 || one.mixture.scales(q, 0) * times_.range() > 1 || one.mixture.weights[q] <= weight) continue;
      weight = one.mixture.weights[q], period = 1 / std::abs(one.mixture.means(q, 0));
    }
    return season > 0 ? std::vector{period, season} : std::vector{period};
  }

  // Parameters learnt before the first origin forecast from all of them. Returns the shares of what was learnt, by the
  // evidence or by the errors of these forecasts; none where no member has any.
  Vector<double> roll(const Times& past, const std::vector<Climbed>& before, Index early,
                      const std::vector<double>& periods, bool by_errors, LearntMixture& learnt) const {
    const Vector<double> shares = by_errors ? Vector<double>() : shares_of(before);
    const std::vector<Index> origins = rolling_origins(early, times_.x.size());
    const double squared = past.scale * past.scale;
    const Vector<double> y = times_.y * times_.scale;
    std::vector<RollingForecasts> members;
    std::vector<Index> kept;
    for (std::size_t k = 0; k < before.size(); ++k) {
      if (by_errors ? !std::isfinite(before[k].evidence) : !(shares[static_cast<Index>(k)] > 0)) continue;
      Mixture own = before[k].mixture, beside = before[k].beside;
      own.weights *= squared;
      if (beside.size() > 0) beside.weights *= squared;
      const SeriesEvidence series(times_.x, y, beside, options_.execution);
      const Matrix<double> L = series.factor(own, before[k].noise * squared, options_.execution);
      if (L.size() == 0) continue;
      members.push_back(rolling_forecasts(L, y, origins));
      kept.push_back(static_cast<Index>(k));
    }
    if (members.empty()) return {};
    Vector<double> parts = by_errors ? shares_by_errors(y, members) : Vector<double>(shares(kept));
    parts /= parts.sum();
    const RollingForecasts forecasts = combined(members, parts);
    learnt.state.bands = forecast_bands(times_.x, y, forecasts);
    // The naive forecast is that of the period with the least error.
    RollingErrors errors;
    for (const double period : periods) {
      const RollingErrors one = rolling_errors(times_.x, y, forecasts, period);
      if (errors.period == 0 || one.seasonal < errors.seasonal) errors = one;
    }
    learnt.report.text += "; " + errors.text(origins.size());
    Vector<double> out = Vector<double>::Zero(static_cast<Index>(before.size()));
    out(kept) = parts;
    return out;
  }

  const Times& times_;
  const SpectralMixtureOptions& options_;
  Index learning_rows_;
  bool combines_;
  Checkpoint* checkpoint_;
  std::vector<StructuralForm> forms_;
  Index fits_ = 1, done_ = 0;
};

}  // namespace

Inference chosen_inference(const SpectralMixtureOptions& options, Index d, Index p, Index rows, bool weighted,
                           bool several_processes) {
  if (options.inference != Inference::automatic) return options.inference;
  const SpectralMixtureOptions usual;
  const MixtureSolver solver = parse_mixture_solver(options.solver);
  const bool as_usual = options.n_components == 0 && options.n_inducing == 0 && !options.start &&
                        options.n_draws == usual.n_draws && options.step_draws == usual.step_draws &&
                        options.kl_copies == usual.kl_copies && options.allocation == usual.allocation &&
                        (solver == MixtureSolver::automatic || solver == MixtureSolver::lbfgs) &&
                        !is_differential(options.coupling);
  const bool series =
      d == 1 && p == 1 && rows >= shortest_series && rows <= longest_series && !weighted && !several_processes;
  const double order = static_cast<double>(rows);
  const bool fits = held_matrices * order * order * 8 < memory_limit(options.execution);
  return as_usual && series && fits ? Inference::exact : Inference::fourier;
}

bool learns_series(const SpectralMixtureOptions& asked, Inference inference) {
  if (inference != Inference::exact) return false;
  return asked.inference == Inference::automatic || asked.trend == Trend::linear || !asked.periods.empty();
}

LearntMixture learn_series(const Matrix<double>& X, const Matrix<double>& Y, const SpectralMixtureOptions& options,
                           Index learning_rows, bool combines, Vector<double>& mean, Checkpoint* checkpoint) {
  require(X.cols() == 1 && Y.cols() == 1,
          "fit: with inference 'exact' a trend and periods are for one input and one target, found {} and {}; take "
          "'fourier'",
          X.cols(), Y.cols());
  const Times times = times_of(X, Y, options.fit_intercept);
  mean = Vector<double>::Constant(1, times.mean);
  return SeriesLearner(times, options, learning_rows, combines, checkpoint).run();
}

}  // namespace carmina
