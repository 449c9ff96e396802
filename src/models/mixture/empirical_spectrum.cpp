// models/mixture/empirical_spectrum.cpp -- a first mixture from the periodogram of each input column.
#include "models/mixture/empirical_spectrum.hpp"
#include "models/mixture/periodogram.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace carmina {
namespace {

constexpr Index most_rows = 4096;           // in sums over all rows for each frequency
constexpr Index series_frequencies = 4096;  // of a single column
constexpr Index column_frequencies = 256;   // of each of several columns: those that matter there are low

// A mixture of normal distributions over the frequencies of one column.
struct Components {
  Vector<double> shares, means, scales;
};

// Power's maxima: no frequency within one and a half resolutions is stronger. The skirt of a strong line, which no
// window suppresses here, falls monotonically and has none.
std::vector<Index> maxima(const Periodogram& p) {
  std::vector<Index> found;
  const Index count = p.power.size();
  for (Index k = 0; k < count; ++k) {
    bool largest = p.power(k) > 0;
    const auto near = [&](Index l) { return std::abs(p.frequencies(l) - p.frequencies(k)) <= 1.5 * p.resolution; };
    for (Index l = k - 1; largest && l >= 0 && near(l); --l) largest = p.power(l) < p.power(k);
    for (Index l = k + 1; largest && l < count && near(l); ++l) largest = p.power(l) <= p.power(k);
    if (largest) found.push_back(k);
  }
  return found;
}

// Up to `wanted` of them, at least two resolutions apart. The first start takes the strongest; the others draw them one
// after the other with probability in proportion to power: the order of E_k / power_k, E_k standard exponential.
std::vector<Index> chosen_peaks(const Periodogram& p, Index wanted, double least_power, Index start,
                                const Random& random) {
  std::vector<Index> peaks = maxima(p);
  std::erase_if(peaks, [&](Index k) { return p.power(k) < least_power; });
  std::vector<std::pair<double, Index>> order;
  for (const Index k : peaks) {
    const double race = start == 0 ? 1 : -std::log1p(-random.uniform(static_cast<std::uint64_t>(k)));
    order.emplace_back(race / p.power(k), k);
  }
  std::sort(order.begin(), order.end());
  std::vector<Index> chosen;
  for (const auto& [key, k] : order) {
    if (static_cast<Index>(chosen.size()) == wanted) break;
    const auto apart = [&, k = k](Index other) {
      return std::abs(p.frequencies(other) - p.frequencies(k)) >= 2 * p.resolution;
    };
    if (std::all_of(chosen.begin(), chosen.end(), apart)) chosen.push_back(k);
  }
  return chosen;
}

// Weighted EM: frequency f_k counts power_k times. A uniform distribution stands beside the normal ones and takes the
// noise, which lies at all frequencies; without it the noise would widen and move the component nearest to it.
void expectation_maximisation(const Periodogram& p, Components& c, double uniform_share) {
  const Index K = p.power.size(), Q = c.means.size();
  const Vector<double> mass = p.power / p.power.sum();
  const double density = 1 / (p.frequencies(K - 1) - p.frequencies(0) + p.resolution), floor = p.resolution / 2;
  Matrix<double> part(K, Q);  // mass_k times the probability that f_k is of component q
  for (int iteration = 0; iteration < 100; ++iteration) {
    double taken = 0;
    for (Index k = 0; k < K; ++k) {
      const auto distance = (p.frequencies(k) - c.means.array()) / c.scales.array();
      const Vector<double> likelihood =
          c.shares.array() / c.scales.array() / std::sqrt(2 * std::numbers::pi) * (-0.5 * distance.square()).exp();
      part.row(k) = likelihood.transpose() * (mass(k) / (likelihood.sum() + uniform_share * density));
      taken += part.row(k).sum();
    }
    double change = 0;
    for (Index q = 0; q < Q; ++q) {
      const double share = part.col(q).sum();
      change = std::max(change, std::abs(share - c.shares(q)));
      c.shares(q) = share;
      if (share < 1e-12) continue;  // a component that no power is near to stays where it is
      c.means(q) = part.col(q).dot(p.frequencies) / share;
      const double variance = (part.col(q).array() * (p.frequencies.array() - c.means(q)).square()).sum() / share;
      c.scales(q) = std::max(floor, std::sqrt(variance));
    }
    uniform_share = std::max(1 - taken, 1e-6);
    if (change < 1e-6) break;
  }
}

// The whole power as a part of the variance. It is 1 for all frequencies of a regular grid; frequencies closer than a
// resolution count a line several times.
double explained_share(const Periodogram& p, double variance) {
  double step = p.resolution;
  for (Index k = 1; k < p.frequencies.size(); ++k) step = std::min(step, p.frequencies(k) - p.frequencies(k - 1));
  return p.power.sum() / variance * (step / p.resolution);
}

double deviation(const Vector<double>& x) { return std::sqrt((x.array() - x.mean()).square().mean()); }

// Components that found no peak: around zero, as wide as suits functions that vary over the spread of the data.
void spread_rest(Components& c, Index first, const Periodogram& p, double width, Index start, const Random& random) {
  double scale = 1 / (2 * std::numbers::pi * (width > 0 ? width : 1));
  scale = std::max(scale, p.resolution / 2);
  for (Index q = first; q < c.means.size(); ++q) {
    const double octaves =
        start == 0 ? static_cast<double>(q - first) / 2 : 4 * random.uniform(static_cast<std::uint64_t>(q), 2) - 1;
    c.means(q) = 0;
    c.scales(q) = scale * std::exp2(std::min(octaves, 4.0));
    c.shares(q) = 1 / static_cast<double>(c.means.size());
  }
}

Components column_start(const Periodogram& p, double variance, Index rows, Index columns, double width, Index Q,
                        Index start, const Random& random) {
  Components c{Vector<double>(Q), Vector<double>(Q), Vector<double>(Q)};
  // Of noise alone n power / (2 variance) is standard exponential at each frequency; where there are several columns
  // most frequencies of most columns are that, and its peaks would be taken for functions that vary without end.
  const double count = static_cast<double>(p.power.size());
  const double noise = columns > 1 ? 2 * variance * std::log(100 * count) / static_cast<double>(rows) : 0;
  const std::vector<Index> peaks = chosen_peaks(p, Q, noise, start, random);
  const auto found = static_cast<Index>(peaks.size());
  for (Index q = 0; q < found; ++q) {
    const Index k = peaks[static_cast<std::size_t>(q)];
    const double octaves = start == 0 ? 0 : 5 * random.uniform(static_cast<std::uint64_t>(q), 1) - 1;
    c.means(q) = p.frequencies(k);
    c.scales(q) = p.resolution * std::exp2(octaves);
    c.shares(q) = 1 / static_cast<double>(Q);
  }
  spread_rest(c, found, p, width, start, random);
  if (found > 0) {
    Components lines{c.shares.head(found) / 2, c.means.head(found), c.scales.head(found)};
    expectation_maximisation(p, lines, 0.5);
    c.means.head(found) = lines.means;
    c.scales.head(found) = lines.scales;
    c.shares.head(found) = lines.shares * explained_share(p, variance);
    if (c.shares.head(found).sum() > 1) c.shares.head(found) /= c.shares.head(found).sum();
  }
  return c;
}

double mean_variance(ConstView<double> Y) {
  double total = 0;
  for (Index o = 0; o < Y.cols(); ++o) {
    double n = 0, mean = 0, squares = 0;
    for (Index i = 0; i < Y.rows(); ++i) {
      if (std::isnan(Y(i, o))) continue;
      const double from_mean = Y(i, o) - mean;
      mean += from_mean / ++n;
      squares += from_mean * (Y(i, o) - mean);
    }
    if (n > 0) total += squares / n;
  }
  return total / static_cast<double>(std::max<Index>(Y.cols(), 1));
}

// All rows, or `most_rows` of them at random.
std::vector<Index> some_rows(Index n, const Random& random) {
  std::vector<Index> rows(static_cast<std::size_t>(std::min(n, most_rows)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = n <= most_rows ? static_cast<Index>(i)
                             : std::min(n - 1, static_cast<Index>(random.uniform(i, 3) * static_cast<double>(n)));
  }
  return rows;
}

}  // namespace

Mixture empirical_start(ConstView<double> X, ConstView<double> Y, Index components, Index start, const Random& random,
                        Index longest_grid) {
  const Index n = X.rows(), d = X.cols(), Q = components;
  require(n >= 1 && d >= 1, "spectral mixture: X must have rows and columns, found {} x {}", n, d);
  require(Y.rows() == n && Y.cols() >= 1, "spectral mixture: X has {} rows, Y is {} x {}", n, Y.rows(), Y.cols());
  require(Q >= 1, "spectral mixture: the number of components must be positive, found {}", Q);
  require(X.allFinite(), "spectral mixture: X must be finite");
  const double variance = mean_variance(Y);
  const bool varies = variance > 0 && std::isfinite(variance);

  Mixture mixture;
  mixture.weights = Vector<double>::Zero(Q);  // logarithms of shares until all columns are in
  mixture.means.resize(Q, d);
  mixture.scales.resize(Q, d);
  for (Index j = 0; j < d; ++j) {
    const Random own = random.child(static_cast<std::uint32_t>(start * d + j));
    const Vector<double> column = X.col(j);
    // A long series in one column goes by the fast transform as a whole; all else by sums over some of its rows.
    Periodogram p;
    const std::vector<Index> middle =
        d == 1 && longest_grid > 0 ? middle_rows(column, longest_grid) : std::vector<Index>();
    if (d == 1 && on_regular_grid(column, longest_grid)) {
      p = summed_periodogram(column, Y, 0, series_frequencies, longest_grid);
    } else if (on_regular_grid(column(middle), longest_grid)) {
      p = summed_periodogram(column(middle), Y(middle, Eigen::all), 0, series_frequencies, longest_grid);
    } else {
      const std::vector<Index> rows = some_rows(n, random);
      const double highest = highest_frequency(d == 1 ? column : Vector<double>(column(rows)));
      const Index limit = d == 1 ? series_frequencies : column_frequencies;
      p = summed_periodogram(column(rows), Y(rows, Eigen::all), highest, limit);
    }
    const double width = deviation(column) * std::sqrt(2.0 * static_cast<double>(d));
    const Components c =
        column_start(p, variance * static_cast<double>(Y.cols()), std::min(n, most_rows), d, width, Q, start, own);
    mixture.means.col(j) = c.means;
    mixture.scales.col(j) = c.scales;
    mixture.weights.array() += c.shares.array().max(1e-4 / static_cast<double>(Q)).log();
  }
  // The geometric mean of the columns' shares; a constant target says nothing of its variance.
  mixture.weights = (mixture.weights / static_cast<double>(d)).array().exp() * (varies ? variance : 1.0);
  return mixture;
}

}  // namespace carmina
