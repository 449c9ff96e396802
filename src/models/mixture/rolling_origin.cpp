// models/mixture/rolling_origin.cpp -- forecasts from many origins by one factor, and what their errors say.
#include "models/mixture/rolling_origin.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

constexpr Index most_origins = 16, fewest_residuals = 5, most_members = 4;
constexpr double judged_part = 0.2;      // of the rows, after an origin
constexpr double smallest_share = 0.05;  // of a member

double shortest_step(const Vector<double>& x) {
  const double range = x[x.size() - 1] - x[0];
  double shortest = range;
  for (Index i = 1; i < x.size(); ++i) {
    if (x[i] - x[i - 1] > 1e-9 * range) shortest = std::min(shortest, x[i] - x[i - 1]);
  }
  return shortest;
}

double quantile(std::vector<double> values, double level) {
  std::sort(values.begin(), values.end());
  const double at = level * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at), above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace

std::vector<Index> rolling_origins(Index first, Index rows) {
  const Index last = rows - std::max<Index>(2, rows / 30);
  std::vector<Index> origins;
  for (Index k = 0; k < most_origins; ++k) {
    const Index origin = first + (last - first) * k / (most_origins - 1);
    if (origin > 0 && origin < rows && (origins.empty() || origin > origins.back())) origins.push_back(origin);
  }
  return origins;
}

RollingForecasts rolling_forecasts(const Matrix<double>& L, const Vector<double>& y,
                                   const std::vector<Index>& origins) {
  const Index n = L.rows();
  Vector<double> z = y;
  L.triangularView<Eigen::Lower>().solveInPlace(z);
  RollingForecasts out{origins, {}, {}};
  for (const Index o : origins) {
    out.mean.push_back(L.block(o, 0, n - o, o) * z.head(o));
    Vector<double> variance(n - o);
    for (Index i = o; i < n; ++i) variance[i - o] = L.row(i).segment(o, i - o + 1).squaredNorm();
    out.variance.push_back(std::move(variance));
  }
  return out;
}

RollingForecasts combined(const std::vector<RollingForecasts>& members, const Vector<double>& shares) {
  RollingForecasts out = members.front();
  for (std::size_t k = 0; k < out.origins.size(); ++k) {
    out.mean[k].setZero(), out.variance[k].setZero();
    for (std::size_t m = 0; m < members.size(); ++m) {
      out.mean[k] += shares[static_cast<Index>(m)] * members[m].mean[k];
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
      out.variance[k] +=
          shares[static_cast<Index>(m)] * (members[m].variance[k] + (members[m].mean[k] - out.mean[k]).cwiseAbs2());
    }
  }
  return out;
}

Vector<double> shares_by_errors(const Vector<double>& y, const std::vector<RollingForecasts>& members) {
  const Index n = y.size(), count = static_cast<Index>(members.size());
  const auto judged = std::max<Index>(2, static_cast<Index>(judged_part * static_cast<double>(n)));
  Vector<double> squares = Vector<double>::Zero(count);
  for (Index m = 0; m < count; ++m) {
    const RollingForecasts& one = members[static_cast<std::size_t>(m)];
    for (std::size_t k = 0; k < one.origins.size(); ++k) {
      const Index o = one.origins[k], rows = std::min(judged, n - o);
      squares[m] += (y.segment(o, rows) - one.mean[k].head(rows)).squaredNorm();
    }
  }
  const double least = std::max(squares.minCoeff(), 1e-12 * y.squaredNorm() + std::numeric_limits<double>::min());
  Vector<double> shares = (least / squares.array().max(least)).square();
  shares /= shares.sum();
  std::vector<double> ordered(shares.begin(), shares.end());
  std::sort(ordered.rbegin(), ordered.rend());
  const double limit = std::max(smallest_share, ordered[std::min<std::size_t>(most_members, ordered.size()) - 1]);
  const double largest = ordered.front();
  for (double& one : shares) one = one < std::min(limit, largest) ? 0 : one;
  return shares / shares.sum();
}

ForecastBands forecast_bands(const Vector<double>& x, const Vector<double>& y, const RollingForecasts& forecasts) {
  std::vector<std::pair<double, double>> seen;  // horizon, |residual| / deviation
  for (std::size_t k = 0; k < forecasts.origins.size(); ++k) {
    const Index o = forecasts.origins[k];
    for (Index i = o; i < x.size(); ++i) {
      const double deviation = std::sqrt(forecasts.variance[k][i - o]);
      if (deviation > 0) seen.emplace_back(x[i] - x[o - 1], std::abs(y[i] - forecasts.mean[k][i - o]) / deviation);
    }
  }
  std::vector<double> places{x[x.size() - 1]}, factors{1};
  double longest = 0;
  for (const auto& [horizon, residual] : seen) longest = std::max(longest, horizon);
  double low = 0, high = 1.5 * shortest_step(x);
  while (low < longest) {
    std::vector<double> residuals;
    for (const auto& [horizon, residual] : seen) {
      if (horizon > low && horizon <= high) residuals.push_back(residual);
    }
    if (static_cast<Index>(residuals.size()) >= fewest_residuals) {
      places.push_back(x[x.size() - 1] + (low + std::min(high, longest)) / 2);
      factors.push_back(std::max(1.0, quantile(residuals, 0.95) / 1.96));
    }
    low = high, high *= 2;
  }
  const auto count = static_cast<Index>(places.size());
  if (count == 1) return {};
  return {Eigen::Map<const Vector<double>>(places.data(), count),
          Eigen::Map<const Vector<double>>(factors.data(), count)};
}

Index seasonal_row(const Vector<double>& x, Index origin, double at, double period) {
  const double end = x[origin - 1], half = 0.505 * shortest_step(x);
  const double first = std::max(1.0, std::ceil((at - end) / period - 1e-9));
  const auto nearest = [&](double place) {
    const auto* begin = x.data();
    const auto* found = std::lower_bound(begin, begin + origin, place);
    Index row = static_cast<Index>(found - begin);
    if (row == origin || (row > 0 && place - x[row - 1] <= x[row] - place)) --row;
    return row;
  };
  for (double back = first; at - back * period >= x[0] - half; ++back) {
    const Index row = nearest(at - back * period);
    if (std::abs(x[row] - (at - back * period)) <= half) return row;
  }
  return nearest(at - first * period);  // times have gaps everywhere
}

RollingErrors rolling_errors(const Vector<double>& x, const Vector<double>& y, const RollingForecasts& forecasts,
                             double period) {
  RollingErrors sums;
  sums.period = period;
  double count = 0;
  for (std::size_t k = 0; k < forecasts.origins.size(); ++k) {
    const Index o = forecasts.origins[k];
    for (Index i = o; i < x.size(); ++i, ++count) {
      const auto square = [&](double forecast) { return (y[i] - forecast) * (y[i] - forecast); };
      sums.model += square(forecasts.mean[k][i - o]);
      sums.last += square(y[o - 1]);
      if (period > 0) sums.seasonal += square(y[seasonal_row(x, o, x[i], period)]);
    }
  }
  for (double* sum : {&sums.model, &sums.last, &sums.seasonal}) *sum = std::sqrt(*sum / std::max(count, 1.0));
  return sums;
}

std::string RollingErrors::text(std::size_t origins) const {
  std::string out = format_text("from {} earlier origins the forecast's RMSE is {:.4g}, that of the last value {:.4g}",
                                origins, model, last);
  if (period > 0) out += format_text(", of the value a period of {:.6g} before {:.4g}", period, seasonal);
  const bool by_season = period > 0 && seasonal < last;
  const double naive = by_season ? seasonal : last;
  if (naive < model) {
    out += format_text("; the naive forecast, {}, is better: take it, or give what else is known of the series",
                       by_season ? "the value a period before" : "the last value");
  }
  return out;
}

}  // namespace carmina
