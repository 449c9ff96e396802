// models/mixture/series_climb.cpp -- units of a series, coordinates of its parameters, the ascent.
#include "models/mixture/series_climb.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {
namespace {

Execution silent(Execution execution) {
  execution.progress = {};  // an evaluation is one of many
  return execution;
}

}  // namespace

Times Times::first(Index rows, bool centre) const {
  Times some{x.head(rows), y.head(rows) * scale, 0, 1};
  some.y.array() += mean;
  some.standardise(centre);
  return some;
}

Times Times::in_runs(Index rows) const {
  const Index n = x.size();
  if (rows >= n) return *this;
  constexpr Index longest_run = 64;
  const Index runs = (rows + longest_run - 1) / longest_run, run = rows / runs;
  std::vector<Index> chosen;
  for (Index k = 0; k < runs; ++k) {
    const Index first = runs > 1 ? (n - run) * k / (runs - 1) : n - run;
    for (Index i = 0; i < run; ++i) chosen.push_back(first + i);
  }
  return {x(chosen), y(chosen), mean, scale};
}

void Times::standardise(bool centre) {
  mean = centre ? y.mean() : 0;
  y.array() -= mean;
  const double deviation = std::sqrt(y.squaredNorm() / static_cast<double>(y.size()));
  require(std::isfinite(deviation) && std::isfinite(mean),
          "fit: the targets are too large for their mean and deviation; divide them by one number");
  scale = deviation > 0 ? deviation : 1;
  y /= scale;
}

Times times_of(const Matrix<double>& X, const Matrix<double>& Y, bool centre) {
  std::vector<Index> order;
  for (Index i = 0; i < X.rows(); ++i) {
    if (!std::isnan(Y(i, 0))) order.push_back(i);
  }
  require(!order.empty(), "fit: output 1 has no target at all");
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return X(a, 0) < X(b, 0); });
  Times times{X.col(0)(order), Y.col(0)(order), 0, 1};
  require(times.range() > 0, "fit: the times of a series must differ, all are {}", times.x[0]);
  times.standardise(centre);
  return times;
}

Mixture Climbed::whole() const {
  if (beside.size() == 0) return mixture;
  Mixture all{Vector<double>(mixture.size() + 1), Matrix<double>(mixture.size() + 1, 1),
              Matrix<double>(mixture.size() + 1, 1), mixture.family};
  all.weights << mixture.weights, beside.weights;
  all.means << mixture.means, beside.means;
  all.scales << mixture.scales, beside.scales;
  return all;
}

SeriesClimb::SeriesClimb(const Times& times, const Times& all, const SpectralMixtureOptions& options, bool linear)
    : times_(times),
      all_(all),
      options_(options),
      quiet_(silent(options.execution)),
      beside_(linear || options.fit_intercept ? trend_component(times.range(), linear) : Mixture{}),
      evidence_(times.x, times.y, beside_, quiet_) {}

Climbed SeriesClimb::from(Index start, const SavedLoop& saved, const AscentStep& on_step) const {
  const Index Q = options_.n_mixtures, turn = (start + 1) / 2;
  const Index levels = usual_levels(Q) + (start % 2 == 1 ? -turn : turn);
  const bool linear = beside_.size() > 0 && beside_.means(0, 0) != 0;
  Climbed out;
  out.beside = beside_;
  out.mixture = series_start(all_.x, all_.y, Q, levels, linear, options_.periods, quiet_);
  out.mixture.family = options_.family;
  Vector<double> at(3 * Q + 1);
  at << out.mixture.weights.array().log().matrix(), out.mixture.means.col(0) * times_.range(),
      (out.mixture.scales.col(0).array() * times_.range()).log().matrix(), std::log(0.1);
  const auto value_at = [&](const Vector<double>& point, Vector<double>* gradient) { return value(point, gradient); };
  const AscentOptions ascent{series_steps(options_), options_.tol, true, saved};
  out.ascent = lbfgs_ascent(value_at, at, ascent, on_step);
  decode(out.ascent.at, out.mixture, out.noise);
  out.evidence = evidence_(out.mixture, out.noise, false, quiet_).value;
  return out;
}

void SeriesClimb::decode(const Vector<double>& at, Mixture& mixture, double& noise) const {
  const Index Q = (at.size() - 1) / 3;
  mixture = {at.head(Q).array().exp(), Matrix<double>(Q, 1), Matrix<double>(Q, 1), options_.family};
  mixture.means.col(0) = at.segment(Q, Q) / times_.range();
  mixture.scales.col(0) = at.segment(2 * Q, Q).array().exp() / times_.range();
  noise = std::exp(at[3 * Q]);
}

double SeriesClimb::value(const Vector<double>& at, Vector<double>* gradient) const {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  const Index Q = (at.size() - 1) / 3;
  if (!at.allFinite() || at.head(Q).cwiseAbs().maxCoeff() > 300 || std::abs(at[3 * Q]) > 300) return lowest;
  if (at.segment(2 * Q, Q).cwiseAbs().maxCoeff() > 30) return lowest;
  Mixture mixture;
  double noise = 0;
  decode(at, mixture, noise);
  const MixtureEvidence found = evidence_(mixture, noise, gradient != nullptr, quiet_);
  if (!std::isfinite(found.value)) return lowest;
  double value = found.value;
  if (gradient) {
    gradient->resize(at.size());
    *gradient << found.by_mixture.weights.cwiseProduct(mixture.weights), found.by_mixture.means / times_.range(),
        found.by_mixture.scales.cwiseProduct(mixture.scales), found.by_noise * noise;
  }
  const auto keep_within = [&](Index k, double least, double most, double strength) {
    const double beyond = at[k] < least ? at[k] - least : at[k] > most ? at[k] - most : 0;
    value -= strength / 2 * beyond * beyond;
    if (gradient) (*gradient)[k] -= strength * beyond;
  };
  constexpr double any = 1e9;
  for (Index q = 0; q < Q; ++q) {
    keep_within(q, -any, std::log(1000.0), 4);
    keep_within(2 * Q + q, std::log(0.02), any, 4);
  }
  keep_within(3 * Q, std::log(1e-5), any, 1);
  return value;
}

}  // namespace carmina
