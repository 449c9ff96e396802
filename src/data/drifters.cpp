// data/drifters.cpp -- tracks in a current of travelling eddies; numbers are functions of (seed, track, reading): more
// tracks begin with the same ones.
#include <carmina/core/error.hpp>
#include <carmina/data/generators.hpp>
#include <carmina/random/philox.hpp>
#include <cmath>
#include <numbers>
#include <utility>

namespace carmina {
namespace {

constexpr Index steps_between = 8;  // of Runge and Kutta from one reading to the next

void check(const DrifterOptions& o) {
  const auto positive = [](double value, const char* what) {
    require(value > 0 && std::isfinite(value), "drifters: {} must be positive, found {}", what, value);
  };
  require(o.readings >= 1, "drifters: the number of readings must be positive, found {}", o.readings);
  positive(o.interval, "interval");
  positive(o.extent, "extent");
  positive(o.size, "size");
  require(o.duration >= 0 && std::isfinite(o.duration), "drifters: duration must be finite and not negative, found {}",
          o.duration);
  require(std::isfinite(o.speed) && std::isfinite(o.drift), "drifters: speed and drift must be finite, found {} and {}",
          o.speed, o.drift);
  require(o.noise >= 0 && std::isfinite(o.noise), "drifters: noise must be finite and not negative, found {}", o.noise);
}

Eigen::RowVector2d velocity(double x, double y, double t, const DrifterOptions& o) {
  const double k = std::numbers::pi / o.size, phase = k * (x - o.drift * t);
  return {o.speed * std::sin(phase) * std::cos(k * y), -o.speed * std::cos(phase) * std::sin(k * y)};
}

// The place a step h later, by the classical method of fourth order.
Eigen::RowVector2d carried(const Eigen::RowVector2d& place, double t, double h, const DrifterOptions& o) {
  const auto at = [&](const Eigen::RowVector2d& p, double time) { return velocity(p[0], p[1], time, o); };
  const Eigen::RowVector2d a = at(place, t), b = at(place + h / 2 * a, t + h / 2), c = at(place + h / 2 * b, t + h / 2),
                           d = at(place + h * c, t + h);
  return place + h / 6 * (a + 2 * b + 2 * c + d);
}

void check_rows(ConstView<double> X, const DrifterOptions& options) {
  check(options);
  require(X.cols() == 3, "drifters: rows hold x, y and the time, found {} columns", X.cols());
}

}  // namespace

Matrix<double> eddy_current(ConstView<double> X, const DrifterOptions& options) {
  check_rows(X, options);
  Matrix<double> found(X.rows(), 2);
  for (Index i = 0; i < X.rows(); ++i) found.row(i) = velocity(X(i, 0), X(i, 1), X(i, 2), options);
  return found;
}

Vector<double> eddy_stream_function(ConstView<double> X, const DrifterOptions& options) {
  check_rows(X, options);
  const double k = std::numbers::pi / options.size;
  Vector<double> psi(X.rows());
  for (Index i = 0; i < X.rows(); ++i) {
    psi[i] = options.speed / k * std::sin(k * (X(i, 0) - options.drift * X(i, 2))) * std::sin(k * X(i, 1));
  }
  return psi;
}

Drifters drifters(Index n_tracks, const DrifterOptions& options) {
  require(n_tracks >= 1, "drifters: the number of tracks must be positive, found {}", n_tracks);
  check(options);
  const Random random(options.seed, Stream::data), noise(options.seed, Stream::noise);
  const Index readings = options.readings, n = n_tracks * readings;
  Drifters data;
  data.X.resize(n, 3);
  data.Y.resize(n, 2);
  for (Index track = 0; track < n_tracks; ++track) {
    const auto of_track = static_cast<std::uint64_t>(track);
    Eigen::RowVector2d place(random.uniform(of_track, 0), random.uniform(of_track, 1));
    place *= options.extent;
    const double dropped = options.duration * random.uniform(of_track, 2);
    const double step = options.interval / static_cast<double>(steps_between);
    for (Index k = 0; k < readings; ++k) {
      const Index row = track * readings + k;
      const double t = dropped + options.interval * static_cast<double>(k);
      data.X.row(row) << place, t;
      for (Index j = 0; j < 2; ++j) {
        data.Y(row, j) = options.noise * noise.normal(of_track, static_cast<std::uint32_t>(2 * k + j));
      }
      data.tracks.push_back(track);
      for (Index s = 0; s < steps_between; ++s)
        place = carried(place, t + step * static_cast<double>(s), step, options);
    }
  }
  data.clean = eddy_current(data.X, options);
  data.Y += data.clean;
  return data;
}

}  // namespace carmina
