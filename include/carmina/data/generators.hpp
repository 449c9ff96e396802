// data/generators.hpp -- data sets whose truth is known: Friedman's functions, the five-Gaussian vector field, drifters
// in a current that moves, and sums of sinusoids.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

namespace carmina {

struct Dataset {
  Matrix<double> X;      // (n, d)
  Matrix<double> Y;      // (n, p), what is observed
  Matrix<double> clean;  // (n, p), the same without noise and without target outliers
};

enum class FriedmanFunction {
  interaction,  // [Friedman1991]  10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5
  additive,     // [Friedman1991], as in [ElAhmad2023, Sec. 4.1]
                //                           0.1 exp(4 x1) + 4 / (1 + exp(-20 (x2 - 1/2))) + 3 x3 + 2 x4 + x5
};

// Inputs uniform in [0, 1]^d, of which the function sees five. Output k sees the inputs shifted by k columns,
// x_(1+k), x_(2+k), ... (cyclically), so that several outputs are related and different.
struct FriedmanOptions {
  FriedmanFunction function = FriedmanFunction::interaction;
  Index inputs = 10;
  Index outputs = 1;
  double noise = 1.0;  // standard deviation of every target
  // round(n input_outliers) rows have inputs N(outlier_center, outlier_deviation^2 I), where the function is
  // far from its usual values. [ElAhmad2023]: 0.01, 1.5, and 0.5 in print but 0.25 in its code.
  double input_outliers = 0.0;
  double outlier_center = 1.5;
  double outlier_deviation = 0.5;
  // round(n target_outliers) rows have N(0, target_outlier_scale^2) added to every target.
  double target_outliers = 0.0;
  double target_outlier_scale = 50.0;
  std::uint64_t seed = 0;
};
Dataset friedman(Index n, const FriedmanOptions& options = {});

// h(x) = sum_k s_k exp(-|x - c_k|^2 / (2 tau^2)) on the plane; s = +1 at (0, 0), (0, 1), (0, -1), -1 at (1,
// 0), (-1, 0).
Vector<double> five_gaussian_potential(ConstView<double> X, double tau = 0.4);

// kind "curl-free": the gradient of h; "divergence-free": (-dh/dx2, dh/dx1).
Matrix<double> five_gaussian_field(std::string_view kind, ConstView<double> X, double tau = 0.4);

struct FieldOptions {
  double tau = 0.4;
  double half_width = 2.0;  // places are in [-half_width, half_width]^2
  double noise = 0.0;       // standard deviation of every component
  bool grid = false;        // a regular grid, whose n must be a square number; else uniform at random
  std::uint64_t seed = 0;
};
Dataset vector_field(std::string_view kind, Index n, const FieldOptions& options = {});

// Eddies in the plane that travel along x without changing: the stream function
//   psi(x, y, t) = speed / k sin(k (x - drift t)) sin(k y),  k = pi / size,
// whose current (u, v) = (d psi / dy, -d psi / dx) has no sources. Each eddy is a square of side `size`; neighbours
// turn against each other; the largest velocity of each component is `speed`.
//
// Drifters are dropped at times uniform over the duration, at places uniform over a square of side `extent`, and go
// with the current. Of each, place, time and velocity are read at regular intervals, rows track by track.
struct DrifterOptions {
  Index readings = 30;  // of each track
  double interval = 0.2;
  double extent = 10, duration = 10;
  double speed = 1, size = 5, drift = 0.5;
  double noise = 0.1;  // standard deviation of each component of a velocity
  std::uint64_t seed = 0;
};
// X (n, 3) holds x, y, t: the current (n, 2).
Matrix<double> eddy_current(ConstView<double> X, const DrifterOptions& options = {});
Vector<double> eddy_stream_function(ConstView<double> X, const DrifterOptions& options = {});
struct Drifters : Dataset {   // X (n, 3): x, y, t; Y (n, 2)
  std::vector<Index> tracks;  // (n), the track that each row is of
};
Drifters drifters(Index n_tracks, const DrifterOptions& options = {});

// [Jung2019, Eq. (17)]  y(t) = sum_q w_q sin(2 pi a_q t) + b_q eps_tq at t = 0, step, 2 step, ...
// w ~ Dirichlet(theta): "almost" equal theta_q = 100, "half" 100 for the first half of the q and 1 for the others,
// "rarely" 0.1. a_q ~ U(0, highest), b_q ~ U(0, noise).
struct SinusoidOptions {
  Index components = 10;
  double step = 0.1;
  double highest = 1.0;
  double noise = 0.1;
  bool shared_noise = false;  // eps_t in the place of eps_tq, as printed: its deviation is then sum_q b_q
  std::uint64_t seed = 0;
};
struct Sinusoids : Dataset {
  Vector<double> weights, frequencies, noise;  // w, a, b
};
Sinusoids sinusoids(std::string_view kind, Index n, const SinusoidOptions& options = {});

}  // namespace carmina
