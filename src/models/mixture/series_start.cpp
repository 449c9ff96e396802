// models/mixture/series_start.cpp -- levels and rhythms of a series by least squares.
#include "models/mixture/series_start.hpp"
#include "backends/vector_math.hpp"
#include "models/mixture/periodogram.hpp"

#include <carmina/core/error.hpp>

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

constexpr Index most_frequencies = 20000;
constexpr double constant_variance = 1e5, slope_deviation = 10;  // of targets of variance 1, over the range

// sum y cos, sum y sin over the squares of cosines and sines: what both take from the sum of squares of y.
double power_at(double f, const Eigen::ArrayXd& x, const Eigen::ArrayXd& y, Eigen::ArrayXd& cosine,
                Eigen::ArrayXd& sine) {
  cosine = two_pi * f * x;
  backend::sincos_scaled(cosine.data(), 1.0, cosine.data(), sine.data(), x.size());
  const double cc = cosine.square().sum(), ss = sine.square().sum(), cs = (cosine * sine).sum();
  const double cy = (cosine * y).sum(), sy = (sine * y).sum(), det = cc * ss - cs * cs;
  if (det > 1e-8 * (cc + ss) * (cc + ss)) return (ss * cy * cy - 2 * cs * cy * sy + cc * sy * sy) / det;
  return cc > ss ? cy * cy / cc : ss > 0 ? sy * sy / ss : 0;  // at the highest frequency sines vanish
}

// What a least-squares fit of a constant, a line and sinusoids leaves of y.
Vector<double> residual(const Vector<double>& x, const Vector<double>& y, bool linear,
                        const std::vector<double>& frequencies) {
  const Index n = x.size(), first = linear ? 2 : 1;
  Eigen::MatrixXd A(n, first + 2 * static_cast<Index>(frequencies.size()));
  A.col(0).setOnes();
  const double range = x[n - 1] - x[0];
  if (linear) A.col(1) = (x.array() - x.mean()) / (range > 0 ? range : 1);
  for (std::size_t k = 0; k < frequencies.size(); ++k) {
    const Eigen::ArrayXd phase = two_pi * frequencies[k] * (x.array() - x[0]);
    A.col(first + 2 * static_cast<Index>(k)) = phase.cos();
    A.col(first + 2 * static_cast<Index>(k) + 1) = phase.sin();
  }
  const Eigen::VectorXd target = y;
  const Eigen::VectorXd fitted = A * A.colPivHouseholderQr().solve(target);
  return y - fitted;
}

}  // namespace

std::vector<double> strongest_rhythms(const Vector<double>& x, const Vector<double>& y, Index count, bool linear,
                                      const std::vector<double>& known, const Execution& execution) {
  const Index n = x.size();
  const double range = x[n - 1] - x[0];
  require(range > 0, "spectral mixture: the times of a series must differ");
  const double grid = 2 * range;
  const auto wanted = static_cast<Index>(1.0001 * highest_frequency(x) * grid);
  const Index frequencies = std::clamp<Index>(wanted, 1, most_frequencies);
  const Eigen::ArrayXd places = x.array() - x[0];
  std::vector<double> found = known;
  while (static_cast<Index>(found.size()) < count) {
    const Eigen::ArrayXd left = residual(x, y, linear, found).array();
    Vector<double> power(frequencies);
    constexpr Index at_once = 64;
    parallel_for((frequencies + at_once - 1) / at_once, execution.thread_count(), [&](Index task, int worker) {
      execution.poll(worker);
      Eigen::ArrayXd cosine(n), sine(n);
      for (Index k = task * at_once; k < std::min(frequencies, (task + 1) * at_once); ++k) {
        power[k] = power_at(static_cast<double>(k + 1) / grid, places, left, cosine, sine);
      }
    });
    // Nothing within a resolution of what was found: that is the same line, which varies.
    Index best = 0;
    double most = -1;
    for (Index k = 0; k < frequencies; ++k) {
      const double f = static_cast<double>(k + 1) / grid;
      const bool apart =
          std::all_of(found.begin(), found.end(), [&](double other) { return std::abs(f - other) > 1 / range; });
      if (apart && power[k] > most) best = k, most = power[k];
    }
    found.push_back(static_cast<double>(best + 1) / grid);
  }
  return found;
}

Index usual_levels(Index components) { return std::min<Index>(3, components / 3); }

Mixture series_start(const Vector<double>& x, const Vector<double>& y, Index components, Index levels, bool linear,
                     const std::vector<double>& periods, const Execution& execution) {
  const Index n = x.size();
  const double range = x[n - 1] - x[0], widest = std::max(1.0, static_cast<double>(n) / 12);
  levels = std::clamp<Index>(levels, 0, components);
  const Index lines = components - levels;
  std::vector<double> known;
  for (const double period : periods) {
    if (static_cast<Index>(known.size()) < lines) known.push_back(1 / period);
  }
  const std::vector<double> rhythms = strongest_rhythms(x, y, lines, linear, known, execution);
  Mixture start{Vector<double>(components), Matrix<double>::Zero(components, 1), Matrix<double>(components, 1), {}};
  double total = 0;
  for (Index q = 0; q < levels; ++q) {
    const double octave = levels > 1 ? static_cast<double>(q) / static_cast<double>(levels - 1) : 0;
    const double width = levels > 1 ? 0.3 * std::pow(widest / 0.3, octave) : 1;
    start.scales(q, 0) = width / range;
    start.weights[q] = 1 / width;
    total += 1 / width;
  }
  start.weights.head(levels) *= 0.5 / std::max(total, 1e-300);
  for (Index q = levels; q < components; ++q) {
    start.means(q, 0) = rhythms[static_cast<std::size_t>(q - levels)];
    start.scales(q, 0) = 0.1 / range;
    start.weights[q] = 0.1;
  }
  return start;
}

Mixture trend_component(double range, bool linear) {
  const double omega = slope_deviation / (std::sqrt(constant_variance) * range);
  Mixture trend{Vector<double>::Constant(1, constant_variance),
                Matrix<double>::Zero(1, 1),
                Matrix<double>::Constant(1, 1, 1e-6 * omega / two_pi),
                {}};
  if (linear) trend.means(0, 0) = omega / two_pi;
  return trend;
}

}  // namespace carmina
