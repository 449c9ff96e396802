// playground/series.cpp -- a series continued by a spectral mixture, which is learnt from it as the library does.
#include "models/mixture/series_learner.hpp"

#include <cmath>
#include <optional>

namespace {

using namespace carmina;

std::optional<LearntMixture> learnt;  // of the points at the end of a drag

}  // namespace

// x, y (n): a series of at least two times. trend 0: none, 1: a line, 2: as the evidence says. Parameters are
// learnt from so many rows of a longer series. found (3 components + 2):
// weights, means and scales (cycles) of the mixture with the largest evidence, the variance of the noise, the share of
// models with a line.
extern "C" void learn_series(int n, const double* x, const double* y, int components, int trend, int learning_rows,
                             double* found) {
  SpectralMixtureOptions options;
  options.n_mixtures = components;
  options.trend = trend == 0 ? Trend::none : trend == 1 ? Trend::linear : Trend::automatic;
  options.inference = Inference::exact;
  const Matrix<double> X = Eigen::Map<const Vector<double>>(x, n), Y = Eigen::Map<const Vector<double>>(y, n);
  Vector<double> mean;
  learnt = learn_series(X, Y, options, learning_rows, true, mean, nullptr);
  const Mixture& mixture = learnt->parameters.mixture;
  Eigen::Map<Vector<double>> out(found, 3 * components + 2);
  out << mixture.weights, mixture.means.col(0), mixture.scales.col(0), learnt->parameters.noise[0], 0;
  double linear = 0, other = 0;
  for (std::size_t k = 0; k < learnt->state.members.size(); ++k) {
    // What stands beside a mixture, a constant or a line, is its last component.
    const Mixture& whole = learnt->state.members[k].mixture;
    (whole.means(whole.size() - 1, 0) != 0 ? linear : other) += learnt->state.shares[static_cast<Index>(k)];
  }
  out[3 * components + 1] = linear / (linear + other);
}

// The mean and the deviation of new observations at the grid (m) by what was learnt last, of these points: s^2 (sum_k
// share_k (v_k + noise_k) + sum_k share_k (f_k - f)^2), s as wide as forecasts from earlier times ask for
// (models/mixture/spectral_mixture.cpp).
extern "C" void forecast_series(int n, const double* x, const double* y, int m, const double* grid, double* mean,
                                double* deviation) {
  const Matrix<double> X = Eigen::Map<const Vector<double>>(x, n), at = Eigen::Map<const Vector<double>>(grid, m);
  const Vector<double> targets = Eigen::Map<const Vector<double>>(y, n);
  const Matrix<double> Y = targets.array() - targets.mean();
  Eigen::Map<Vector<double>> f(mean, m), std(deviation, m);
  f.setConstant(targets.mean());
  Vector<double> squares = Vector<double>::Zero(m);
  const MixtureState& state = learnt->state;
  std::vector<Matrix<double>> means(state.members.size());
  for (std::size_t k = 0; k < means.size(); ++k) {
    const MixtureMember& member = state.members[k];
    Vector<double> variance;
    predict_process(member.mixture, exact_process(member.mixture, member.noise, X, Y, {}), at, means[k], variance, {});
    f += state.shares[static_cast<Index>(k)] * means[k];
    squares.array() += state.shares[static_cast<Index>(k)] * (variance.array() + member.noise);
  }
  for (std::size_t k = 0; k < means.size(); ++k) {
    const Vector<double> apart = (means[k].col(0) - f).array() + targets.mean();
    squares += state.shares[static_cast<Index>(k)] * apart.cwiseAbs2();
  }
  for (Index i = 0; i < m; ++i) std[i] = state.bands.factor(grid[i]) * std::sqrt(squares[i]);
}
