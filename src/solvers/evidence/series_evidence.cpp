// solvers/evidence/series_evidence.cpp -- tables of covariances by lag, and sums of derivatives by lag.
#include "solvers/evidence/series_evidence.hpp"
#include "backends/tiled.hpp"
#include "backends/vector_math.hpp"
#include "kernels/mixture_math.hpp"
#include "solvers/evidence/mixture_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace carmina {
namespace {

constexpr double off_grid = 0.02;     // of a step
constexpr double longest_grid = 1e5;  // places
constexpr Index lags_at_once = 1024;

// The step of the grid that ascending x lie on; 0: on none. A shortest step is known to rounding alone, and the range
// is many of it: the neighbouring numbers of steps are tried too.
double grid_step(const Vector<double>& x) {
  const Index n = x.size();
  const double range = x[n - 1] - x[0];
  double shortest = range;
  for (Index i = 1; i < n; ++i) {
    const double step = x[i] - x[i - 1];
    if (step > 1e-9 * range) shortest = std::min(shortest, step);
  }
  if (!(range > 0) || !std::isfinite(range) || range / shortest > longest_grid) return 0;
  double sum = 0, count = 0;
  for (Index i = 1; i < n; ++i) {
    const double step = x[i] - x[i - 1];
    if (step < 1.5 * shortest && step > 0.5 * shortest) sum += step, ++count;
  }
  const double about = std::round(range / (sum / count));
  double best = off_grid, found = 0;
  for (double steps = std::max(1.0, about - 8); steps <= about + 8; ++steps) {
    const double step = range / steps;
    double worst = 0;
    for (Index i = 1; i < n && worst < best; ++i) {
      const double place = (x[i] - x[0]) / step;
      worst = std::max(worst, std::abs(place - std::round(place)));
    }
    if (worst < best) best = worst, found = step;
  }
  return found;
}

}  // namespace

SeriesEvidence::SeriesEvidence(Vector<double> x, Vector<double> y, const Mixture& fixed, const Execution& execution)
    : x_(std::move(x)), y_(std::move(y)) {
  find_lags();
  fixed_ = fixed.size() > 0 ? values(fixed, execution) : Vector<double>::Zero(lags_.size());
}

void SeriesEvidence::find_lags() {
  const Index n = rows();
  lag_of_.reserve(static_cast<std::size_t>(n * (n + 1) / 2));
  const double step = grid_step(x_);
  grid_ = step > 0;
  if (grid_) {
    std::vector<std::int32_t> places;
    for (const double one : x_) places.push_back(static_cast<std::int32_t>(std::lround((one - x_[0]) / step)));
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) lag_of_.push_back(places[i] - places[j]);
    }
    lags_ = Vector<double>::LinSpaced(places.back() + 1, 0, x_[n - 1] - x_[0]);
    return;
  }
  lags_.resize(n * (n + 1) / 2);
  for (Index i = 0, at = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j, ++at) {
      lags_[at] = x_[i] - x_[j];
      lag_of_.push_back(static_cast<std::int32_t>(at));
    }
  }
}

namespace {

// One component at a run of lags: w cos(2 pi mu l), w sin(2 pi mu l), chi(t) and t chi'(t) at t = 2 pi sigma l.
struct LagWaves {
  Eigen::ArrayXd cosine, sine, chi, by_scale;
  explicit LagWaves(Index run) : cosine(run), sine(run), chi(run), by_scale(run), phase_(run) {}

  void fill(const Mixture& mixture, Index q, const auto& lags, bool slopes) {
    const Index run = chi.size();
    const double sigma = two_pi * mixture.scales(q, 0);
    phase_ = two_pi * mixture.means(q, 0) * lags;
    backend::sincos_scaled(phase_.data(), mixture.weights[q], cosine.data(), sine.data(), run);
    if (std::holds_alternative<GaussianFamily>(mixture.family)) {
      chi = (sigma * lags).square();
      if (slopes) by_scale = -chi;
      backend::exp_scaled(chi.data(), -0.5, run);
      if (slopes) by_scale *= chi;
      return;
    }
    std::visit(
        [&](const auto& family) {
          for (Index i = 0; i < run; ++i) {
            const double t = sigma * lags[i];
            chi[i] = family.chi(t), by_scale[i] = t * family.chi_slope(t);
          }
        },
        mixture.family);
  }

 private:
  Eigen::ArrayXd phase_;
};

// Calls body(task, lags of the run, first) for runs of lags.
template <class Body>
void over_lags(const Vector<double>& lags, const Execution& execution, const Body& body) {
  const Index count = lags.size();
  parallel_for((count + lags_at_once - 1) / lags_at_once, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * lags_at_once, run = std::min(lags_at_once, count - first);
    body(task, lags.segment(first, run).array(), first);
  });
}

}  // namespace

Vector<double> SeriesEvidence::values(const Mixture& mixture, const Execution& execution) const {
  Vector<double> out = Vector<double>::Zero(lags_.size());
  over_lags(lags_, execution, [&](Index, const auto& lags, Index first) {
    LagWaves waves(lags.size());
    for (Index q = 0; q < mixture.size(); ++q) {
      waves.fill(mixture, q, lags, false);
      out.segment(first, lags.size()).array() += waves.cosine * waves.chi;
    }
  });
  return out;
}

// With C, S the cosine and sine of 2 pi mu l, chi at t = 2 pi sigma l:
//   d k / d log w = w C chi,   d k / d mu = -2 pi l w S chi,   d k / d log sigma = w C t chi'(t)
Vector<double> SeriesEvidence::slopes(const Mixture& mixture, const Vector<double>& by_lag,
                                      const Execution& execution) const {
  const Index Q = mixture.size(), tasks = (lags_.size() + lags_at_once - 1) / lags_at_once;
  Matrix<double> parts = Matrix<double>::Zero(tasks, 3 * Q);
  over_lags(lags_, execution, [&](Index task, const auto& lags, Index first) {
    LagWaves waves(lags.size());
    const auto by = by_lag.segment(first, lags.size()).array();
    for (Index q = 0; q < Q; ++q) {
      waves.fill(mixture, q, lags, true);
      parts(task, q) = (by * waves.cosine * waves.chi).sum();
      parts(task, Q + q) = -two_pi * (by * lags * waves.sine * waves.chi).sum();
      parts(task, 2 * Q + q) = (by * waves.cosine * waves.by_scale).sum();
    }
  });
  return parts.colwise().sum().transpose();
}

bool SeriesEvidence::factored(const Vector<double>& table, double noise, Matrix<double>& L,
                              const Execution& execution) const {
  const Index n = rows();
  L.resize(n, n);
  const std::int32_t* lag = lag_of_.data();
  for (Index i = 0; i < n; ++i) {
    double* row = L.row(i).data();
    for (Index j = 0; j <= i; ++j) row[j] = table[*lag++];
    row[i] += noise;
  }
  return table.allFinite() && backend::cholesky(n, L.data(), L.outerStride(), execution);
}

MixtureEvidence SeriesEvidence::operator()(const Mixture& mixture, double noise, bool gradient,
                                           const Execution& execution) const {
  const Index n = rows(), Q = mixture.size();
  MixtureEvidence evidence{-std::numeric_limits<double>::infinity(), zero_like(mixture), 0, {}};
  Matrix<double> L;
  const Vector<double> table = values(mixture, execution) + fixed_;
  if (!factored(table, noise, L, execution)) return evidence;
  Vector<double> alpha = y_;
  backend::cholesky_solve(n, 1, L.data(), L.outerStride(), alpha.data(), 1, execution);
  evidence.value = -alpha.dot(y_) / 2 - L.diagonal().array().log().sum() -
                   static_cast<double>(n) / 2 * std::log(2 * std::numbers::pi);
  if (!gradient) return evidence;
  // d log p / dK = (alpha alphaᵀ - (K + F + noise I)^-1) / 2, summed over the pairs of each lag.
  backend::cholesky_inverse(n, L.data(), L.outerStride(), execution);
  Vector<double> by_lag = Vector<double>::Zero(table.size());
  const std::int32_t* lag = lag_of_.data();
  for (Index i = 0; i < n; ++i) {
    const double* row = L.row(i).data();
    for (Index j = 0; j < i; ++j) by_lag[*lag++] += alpha[i] * alpha[j] - row[j];
    by_lag[*lag++] += (alpha[i] * alpha[i] - row[i]) / 2;
    evidence.by_noise += (alpha[i] * alpha[i] - row[i]) / 2;
  }
  const Vector<double> sums = slopes(mixture, by_lag, execution);
  evidence.by_mixture.weights = sums.head(Q).cwiseQuotient(mixture.weights);
  evidence.by_mixture.means.col(0) = sums.segment(Q, Q);
  evidence.by_mixture.scales.col(0) = sums.tail(Q).cwiseQuotient(mixture.scales.col(0));
  return evidence;
}

Matrix<double> SeriesEvidence::factor(const Mixture& mixture, double noise, const Execution& execution) const {
  Matrix<double> L;
  if (!factored(values(mixture, execution) + fixed_, noise, L, execution)) return {};
  L.triangularView<Eigen::StrictlyUpper>().setZero();
  return L;
}

}  // namespace carmina
