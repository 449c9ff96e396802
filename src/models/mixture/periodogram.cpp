// models/mixture/periodogram.cpp -- power over frequencies: a Fourier transform on a regular grid, Lomb-Scargle's sums
// off it.
#include "models/mixture/periodogram.hpp"

#include <carmina/core/error.hpp>

#include <unsupported/Eigen/FFT>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

namespace carmina {
namespace {

using Complex = std::complex<double>;

constexpr Index few_frequencies = 512;  // whose power is found by sums over all rows

// Bluestein's transform of any length N by ones of a power of two: with jk = (j^2 + k^2 - (k - j)^2) / 2,
//   sum_j y_j exp(-2 pi i jk / N) = c_k sum_j (y_j c_j) conj(c_(k-j)),   c_j = exp(-pi i j^2 / N).
std::vector<Complex> fourier_transform(const std::vector<double>& y) {
  const std::size_t N = y.size();
  std::size_t length = 1;
  while (length < 2 * N) length *= 2;
  std::vector<Complex> chirp(N), left(length), right(length), left_hat, right_hat;
  for (std::size_t j = 0; j < N; ++j) {
    const double turns = static_cast<double>(j * j % (2 * N)) / static_cast<double>(2 * N);
    chirp[j] = std::polar(1.0, -2 * std::numbers::pi * turns);
    left[j] = y[j] * chirp[j];
    right[j] = std::conj(chirp[j]);
    if (j > 0) right[length - j] = right[j];
  }
  Eigen::FFT<double> fft;
  fft.fwd(left_hat, left);
  fft.fwd(right_hat, right);
  for (std::size_t j = 0; j < length; ++j) left_hat[j] *= right_hat[j];
  fft.inv(left, left_hat);
  left.resize(N);
  for (std::size_t k = 0; k < N; ++k) left[k] *= chirp[k];
  return left;
}

std::vector<double> sorted(const Vector<double>& x) {
  std::vector<double> values(x.begin(), x.end());
  std::sort(values.begin(), values.end());
  return values;
}

struct Grid {
  Index length;
  double step;
  std::vector<Index> places;  // of each row
};

// Of two different x, as far as rounding can tell.
double shortest_step(const std::vector<double>& ascending) {
  const double range = ascending.back() - ascending.front();
  double least = range;
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    const double step = ascending[i] - ascending[i - 1];
    if (step > 1e-9 * range) least = std::min(least, step);
  }
  return least;
}

// A grid much longer than x is none: any numbers are places of a fine enough one.
std::optional<Grid> regular_grid(const Vector<double>& x, Index cells) {
  const std::vector<double> values = sorted(x);
  const double range = values.back() - values.front(), steps = std::round(range / shortest_step(values));
  const double most = std::max(4 * static_cast<double>(values.size()), static_cast<double>(cells - 1));
  if (!(steps >= 1) || steps > most) return std::nullopt;
  Grid grid{static_cast<Index>(steps) + 1, range / steps, {}};
  grid.places.reserve(values.size());
  for (const double v : x) {
    const double place = (v - values.front()) / grid.step;
    if (std::abs(place - std::round(place)) > 1e-6) return std::nullopt;
    grid.places.push_back(static_cast<Index>(std::llround(place)));
  }
  return grid;
}

struct Centred {
  std::vector<Index> rows;  // that are there
  std::vector<double> values;
};

Centred centred(const Matrix<double>& Y, Index output) {
  Centred c;
  double sum = 0;
  for (Index i = 0; i < Y.rows(); ++i) {
    if (std::isnan(Y(i, output))) continue;
    c.rows.push_back(i);
    c.values.push_back(Y(i, output));
    sum += Y(i, output);
  }
  for (double& v : c.values) v -= sum / static_cast<double>(c.values.size());
  return c;
}

// |sum_j y_j exp(-2 pi i jk / N)|^2 sums to N sum_j y_j^2 over all k; k and N - k are one frequency.
void add_grid_power(const Grid& grid, const Centred& y, Vector<double>& power) {
  std::vector<double> series(static_cast<std::size_t>(grid.length), 0.0);
  for (std::size_t i = 0; i < y.rows.size(); ++i) {
    series[static_cast<std::size_t>(grid.places[static_cast<std::size_t>(y.rows[i])])] += y.values[i];
  }
  const std::vector<Complex> hat = fourier_transform(series);
  const double norm = static_cast<double>(grid.length) * static_cast<double>(y.rows.size());
  for (Index k = 1; k <= power.size(); ++k) {
    power(k - 1) += (2 * k == grid.length ? 1 : 2) * std::norm(hat[static_cast<std::size_t>(k)]) / norm;
  }
}

// Lomb and Scargle's: what a sine and a cosine of frequency f, shifted until they are orthogonal over the places, take
// from the mean square of y.
double least_squares_power(const Vector<double>& x, const Centred& y, double f) {
  double sine_2 = 0, cosine_2 = 0, y_sine = 0, y_cosine = 0;
  for (std::size_t i = 0; i < y.rows.size(); ++i) {
    const double phase = 2 * std::numbers::pi * f * x(y.rows[i]), s = std::sin(phase), c = std::cos(phase);
    sine_2 += 2 * s * c;
    cosine_2 += c * c - s * s;
    y_sine += y.values[i] * s;
    y_cosine += y.values[i] * c;
  }
  // tan(2 tau) = sum sin(2 phase) / sum cos(2 phase); then sums of squares are (n +- |(cosine_2, sine_2)|) / 2.
  const double tau = std::atan2(sine_2, cosine_2) / 2, n = static_cast<double>(y.rows.size());
  const double along = y_cosine * std::cos(tau) + y_sine * std::sin(tau);
  const double across = y_sine * std::cos(tau) - y_cosine * std::sin(tau);
  const double spread = std::hypot(cosine_2, sine_2), cosines = (n + spread) / 2, sines = (n - spread) / 2;
  const auto part = [&](double product, double squares) {
    return squares > 1e-9 * n ? product * product / squares : 0.0;  // else the wave is zero at every place
  };
  return (part(along, cosines) + part(across, sines)) / n;
}

// Where there are too many frequencies the strongest stay, in their order.
void keep_strongest(Periodogram& p, Index limit) {
  if (p.power.size() <= limit) return;
  std::vector<Index> order(static_cast<std::size_t>(p.power.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto stronger = [&](Index a, Index b) { return p.power(a) != p.power(b) ? p.power(a) > p.power(b) : a < b; };
  std::nth_element(order.begin(), order.begin() + limit, order.end(), stronger);
  order.resize(static_cast<std::size_t>(limit));
  std::sort(order.begin(), order.end());
  p.frequencies = Vector<double>(p.frequencies(order));
  p.power = Vector<double>(p.power(order));
}

}  // namespace

bool on_regular_grid(const Vector<double>& x, Index cells) {
  return x.size() > 0 && regular_grid(x, cells).has_value();
}

std::vector<Index> middle_rows(const Vector<double>& x, Index cells) {
  std::vector<Index> rows;
  if (x.size() == 0) return rows;
  const std::vector<double> values = sorted(x);
  const double reach = shortest_step(values) * static_cast<double>(cells - 2) / 2, middle = values[values.size() / 2];
  for (Index i = 0; i < x.size(); ++i) {
    if (std::abs(x(i) - middle) <= reach) rows.push_back(i);
  }
  return rows;
}

double highest_frequency(Vector<double> x) {
  std::sort(x.begin(), x.end());
  std::vector<double> steps;
  for (Index i = 1; i < x.size(); ++i) {
    if (x(i) > x(i - 1)) steps.push_back(x(i) - x(i - 1));
  }
  if (steps.empty()) return 0;
  const auto short_step = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 10);
  std::nth_element(steps.begin(), short_step, steps.end());
  return 0.5 / *short_step;
}

Periodogram summed_periodogram(const Vector<double>& x, const Matrix<double>& Y, double highest, Index limit,
                               Index cells) {
  require(x.size() == Y.rows(), "periodogram: x has {} entries, y has {}", x.size(), Y.rows());
  require(x.allFinite(), "periodogram: x must be finite");
  require(limit >= 1, "periodogram: the limit of frequencies must be positive, found {}", limit);
  Periodogram p;
  const double range = x.size() > 0 ? x.maxCoeff() - x.minCoeff() : 0;
  if (!(range > 0)) return p;
  p.resolution = 1 / range;

  const Vector<double> from_first = x.array() - x.minCoeff();
  const auto by_least_squares = [&] {
    p.power = Vector<double>::Zero(p.frequencies.size());
    for (Index o = 0; o < Y.cols(); ++o) {
      const Centred y = centred(Y, o);
      if (y.rows.empty()) continue;
      for (Index k = 0; k < p.power.size(); ++k) p.power(k) += least_squares_power(from_first, y, p.frequencies(k));
    }
  };

  if (const std::optional<Grid> grid = regular_grid(x, cells)) {
    const double step = 1 / (static_cast<double>(grid->length) * grid->step);
    const Index half = grid->length / 2;
    p.frequencies = step * Vector<double>::LinSpaced(half, 1, static_cast<double>(half));
    p.power = Vector<double>::Zero(p.frequencies.size());
    for (Index o = 0; o < Y.cols(); ++o) {
      const Centred y = centred(Y, o);
      if (!y.rows.empty()) add_grid_power(*grid, y, p.power);
    }
    // A grid that is mostly empty spreads a line's power over all frequencies; where the line is, it is the strongest.
    const bool empty = grid->length > 5 * x.size();
    keep_strongest(p, empty ? std::min(limit, few_frequencies) : limit);
    if (empty) by_least_squares();
    return p;
  }
  // Two frequencies a resolution, so that no peak falls between them.
  if (!(highest > 0)) highest = highest_frequency(x);
  const double step = p.resolution / 2;
  const auto count = static_cast<Index>(std::clamp(std::floor(highest / step), 1.0, static_cast<double>(limit)));
  p.frequencies = step * Vector<double>::LinSpaced(count, 1, static_cast<double>(count));
  by_least_squares();
  return p;
}

Periodogram periodogram(const Vector<double>& x, const Vector<double>& y, double highest, Index limit) {
  return summed_periodogram(x, y, highest, limit);
}

}  // namespace carmina
