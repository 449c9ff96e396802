// playground/curve.cpp -- fits of a curve to some points by the library's solvers: the squared loss with its band,
// Huber's loss, and quantiles.
#include "backends/tiled.hpp"
#include "features/kernel_map.hpp"
#include "features/map_operations.hpp"
#include "features/sample_map.hpp"
#include "models/fit/leave_out.hpp"
#include "solvers/losses/convex_loss.hpp"
#include "solvers/squared/left_out.hpp"

#include <carmina/models/posterior.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

using namespace carmina;

// The points are few: whatever the features, a fit is one of the rows of K (n, n), and predictions are of k (m, n).
struct KernelRows {
  Matrix<double> K, k;

  KernelRows(double width, Index components, const Matrix<double>& X, const Matrix<double>& grid) {
    const ScalarKernel kernel = Gaussian(width);
    if (components == 0) {
      K = kernel_matrix<double>(kernel, X, X);
      k = kernel_matrix<double>(kernel, grid, X);
      return;
    }
    const auto map = sample_term_map<double>(Gaussian(width), 1, components, 0, Sampling::iid);
    Matrix<double> phi(X.rows(), components), at(grid.rows(), components);
    evaluate(map, ConstView<double>(X), View<double>(phi), {});
    evaluate(map, ConstView<double>(grid), View<double>(at), {});
    const Matrix<double> turned = phi.transpose();
    K = backend::product(backend::Transpose::no, phi, turned, {});
    k = backend::product(backend::Transpose::no, at, turned, {});
  }
};

// Posterior deviations of new observations at the grid (models/posterior.hpp), and the interval of that coverage.
void fit_squared(const KernelRows& rows, const Vector<double>& y, double alpha, double coverage, double* mean,
                 double* deviation, double* low, double* high) {
  const Index n = rows.K.rows(), m = rows.k.rows();
  const OutputFactor one;
  const SquaredLossProblem problem{one, alpha, true};
  const DualRows targets{(y.array() - y.mean()).matrix(), {}, Vector<double>::Constant(1, y.mean())};
  std::vector<Index> places(static_cast<std::size_t>(n));
  std::iota(places.begin(), places.end(), Index{0});
  const Vector<double> ones = Vector<double>::Ones(n);
  LeftOut left_out(&one, 1, alpha, true, static_cast<double>(n), ones);
  Vector<double> squares(m);
  const FactorUse use = [&](double delta, const Whiten& whiten) {
    left_out.add(delta, whiten, places, ones);
    // K(x, x) - k M^-1 kᵀ + (1 - 1ᵀM^-1 kᵀ)^2 / (1ᵀM^-1 1), M = K + alpha I
    Matrix<double> Z = rows.k.transpose(), e = ones;
    whiten.apply(0, Z);
    whiten.apply(0, e);
    const Vector<double> across = (e.transpose() * Z).transpose();
    squares = 1 - Z.colwise().squaredNorm().transpose().array() + (1 - across.array()).square() / e.squaredNorm();
  };
  Matrix<double> K = rows.K;
  SolveReport report;
  const LinearSolution solution = solve_dual(K, targets, problem, {}, report, use);
  const NoiseTable table = noise_table(left_out.of_dual(solution, targets, places), {});
  const double noise = table.noise.size() > 0 ? table.noise[0] : 0;
  const double q = table.noise.size() > 0 ? table.quantiles(static_cast<Index>(interval_level(coverage)), 0) : 0;
  Eigen::Map<Vector<double>> f(mean, m);
  f = (rows.k * solution.coefficients).array() + solution.intercept[0];
  for (Index i = 0; i < m; ++i) {
    deviation[i] = std::sqrt(noise * (1 + std::max(0.0, squares[i]) / alpha));
    low[i] = f[i] - q * deviation[i];
    high[i] = f[i] + q * deviation[i];
  }
}

// Predictions (m, outputs) of another loss, each output for itself.
Matrix<double> fit_loss(const KernelRows& rows, const Loss& loss, const Vector<double>& y, Index outputs,
                        double alpha) {
  const Index n = rows.K.rows();
  const auto features = kernel_rows(rows.K, {});
  const CoefficientSpace space(OutputFactor{}, n, outputs);
  SolveReport report;
  const LinearSolution solution = solve_convex_loss(*features, space, {loss, y.replicate(1, outputs), {}, alpha, true},
                                                    Direction::newton, IterationOptions{}, {}, report);
  return (rows.k * solution.coefficients).rowwise() + solution.intercept.transpose();
}

}  // namespace

// x, y (n): points; grid (m): where curves are wanted. components 0: the exact kernel. Each curve that has a place is
// fitted: squared (4, m) mean, deviation, low and high; huber (m); quantiles (levels, m), in ascending order.
extern "C" void fit_curve(double width, int components, double alpha, int n, const double* x, const double* y, int m,
                          const double* grid, double coverage, double* squared, double kappa, double* huber, int levels,
                          const double* taus, double* quantiles) {
  const Matrix<double> X = Eigen::Map<const Vector<double>>(x, n), at = Eigen::Map<const Vector<double>>(grid, m);
  const Vector<double> targets = Eigen::Map<const Vector<double>>(y, n);
  const KernelRows rows(width, components, X, at);
  if (squared) fit_squared(rows, targets, alpha, coverage, squared, squared + m, squared + 2 * m, squared + 3 * m);
  if (huber) Eigen::Map<Vector<double>>(huber, m) = fit_loss(rows, Huber(kappa), targets, 1, alpha);
  if (!quantiles) return;
  Matrix<double> F = fit_loss(rows, Pinball(std::vector<double>(taus, taus + levels)), targets, levels, alpha);
  for (Index i = 0; i < m; ++i) {
    std::sort(F.row(i).data(), F.row(i).data() + levels);
    for (Index j = 0; j < levels; ++j) quantiles[j * m + i] = F(i, j);
  }
}
