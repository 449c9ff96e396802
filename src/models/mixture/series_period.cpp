// models/mixture/series_period.cpp -- mean squares of differences at lags of whole steps.
#include "models/mixture/series_period.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

constexpr double off_grid = 0.3;      // of a step: months are 28 to 31 days
constexpr Index most_places = 20000;  // every lag is looked at
constexpr double longest_part = 0.4;  // of the range
constexpr double contrast = 0.6;      // of the largest difference at shorter lags
constexpr double as_good = 1.25;      // of the smallest
constexpr double fewest_pairs = 0.2;  // of the rows

// Values at the places of a grid, less a line; NaN where there is none.
struct Places {
  std::vector<double> values;
  double step = 0;

  Places(const Vector<double>& x, const Vector<double>& y) {
    const Index n = x.size();
    const double range = x[n - 1] - x[0], about = std::round(range / usual_step(x));
    if (!(about >= 1) || about >= static_cast<double>(most_places)) return;
    step = range / about;
    values.assign(static_cast<std::size_t>(about) + 1, std::numeric_limits<double>::quiet_NaN());
    const Eigen::ArrayXd t = x.array() - x.mean();
    const double slope = (t * (y.array() - y.mean())).sum() / t.square().sum();
    for (Index i = 0; i < n; ++i) {
      const double place = (x[i] - x[0]) / step;
      if (std::abs(place - std::round(place)) > off_grid) {
        step = 0;
        return;
      }
      values[static_cast<std::size_t>(std::lround(place))] = y[i] - slope * t[i];
    }
  }

  // D(lag); infinity where there are few pairs.
  double difference(Index lag, Index rows) const {
    double sum = 0;
    Index pairs = 0;
    const auto apart = static_cast<std::size_t>(lag);
    for (std::size_t i = apart; i < values.size(); ++i) {
      const double change = values[i] - values[i - apart];
      if (std::isnan(change)) continue;
      sum += change * change, ++pairs;
    }
    const double fewest = std::max(10.0, fewest_pairs * static_cast<double>(rows));
    return static_cast<double>(pairs) < fewest ? std::numeric_limits<double>::infinity()
                                               : sum / static_cast<double>(pairs);
  }
};

}  // namespace

double usual_step(const Vector<double>& x) {
  const Index n = x.size();
  const double range = x[n - 1] - x[0];
  double shortest = range, sum = 0, count = 0;
  for (Index i = 1; i < n; ++i) {
    if (x[i] - x[i - 1] > 1e-9 * range) shortest = std::min(shortest, x[i] - x[i - 1]);
  }
  for (Index i = 1; i < n; ++i) {
    const double step = x[i] - x[i - 1];
    if (step > 0.5 * shortest && step < 1.5 * shortest) sum += step, ++count;
  }
  return count > 0 ? sum / count : shortest;
}

double recurring_period(const Vector<double>& x, const Vector<double>& y) {
  const Places places(x, y);
  if (places.step == 0) return 0;
  const auto longest = static_cast<Index>(longest_part * static_cast<double>(places.values.size()));
  std::vector<double> D(static_cast<std::size_t>(longest) + 2, std::numeric_limits<double>::infinity());
  for (Index lag = 1; lag <= longest; ++lag) D[static_cast<std::size_t>(lag)] = places.difference(lag, x.size());
  std::vector<std::pair<Index, double>> minima;
  for (std::size_t lag = 2; lag + 1 < D.size(); ++lag) {
    double largest = 0;
    for (std::size_t k = (lag + 1) / 2; k < lag; ++k) {
      if (std::isfinite(D[k])) largest = std::max(largest, D[k]);
    }
    if (D[lag] < contrast * largest && D[lag] <= D[lag - 1] && D[lag] <= D[lag + 1]) {
      minima.emplace_back(static_cast<Index>(lag), D[lag]);
    }
  }
  double smallest = std::numeric_limits<double>::infinity();
  for (const auto& [lag, value] : minima) smallest = std::min(smallest, value);
  for (const auto& [lag, value] : minima) {
    if (value <= as_good * smallest) return static_cast<double>(lag) * places.step;
  }
  return 0;
}

double recurring_period(const Vector<double>& x, const Vector<double>& y, const std::vector<double>& given) {
  const Places places(x, y);
  const double range = x[x.size() - 1] - x[0];
  double found = 0, smallest = std::numeric_limits<double>::infinity();
  for (const double period : given) {
    if (2 * period > range || period < 1.5 * usual_step(x)) continue;
    const double value = places.step > 0 ? places.difference(std::lround(period / places.step), x.size()) : 1;
    if (value < smallest) found = period, smallest = value;
  }
  return found;
}

}  // namespace carmina
