// models/choose/loss_alpha.cpp -- numbers of other losses than the squared one, and their alpha, from residuals of
// left-out rows.
#include "losses/row_functions.hpp"
#include "models/choose/choose.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace carmina {
namespace {

// The number below which this share of the weight is.
double weighted_quantile(const Vector<double>& values, const Vector<double>& weights, double level) {
  std::vector<Index> order(static_cast<std::size_t>(values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return values[a] < values[b]; });
  double below = 0;
  const double wanted = level * weights.sum();
  for (const Index i : order) {
    below += weights[i];
    if (below >= wanted) return values[i];
  }
  return values[order.back()];
}

// E l'^2 / (E r^2 E l'') of predictions f for targets y.
template <class L>
double noise_to_signal(const L& loss, const Matrix<double>& f, const Matrix<double>& y, const Vector<double>& weights) {
  const Index n = f.rows(), p = f.cols();
  double total = 0, squares = 0;  // of the targets that are there
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < p; ++j) {
      if (!has_target(y(i, j))) continue;
      total += weights[i];
      squares += weights[i] * (y(i, j) - f(i, j)) * (y(i, j) - f(i, j));
    }
  }
  squares /= total;
  if (!(squares > 0)) return 1;
  const double step = 0.2 * std::sqrt(squares);
  double slopes = 0, curvature = 0;
  Vector<double> at(p), g(p);
  for (Index i = 0; i < n; ++i) {
    at = f.row(i);
    const Vector<double> target = y.row(i);
    row_gradient(loss, at.data(), target.data(), p, g.data());
    slopes += weights[i] * g.squaredNorm();
    for (Index j = 0; j < p; ++j) {
      for (const double sign : {1.0, -1.0}) {
        at[j] = f(i, j) + sign * step;
        row_gradient(loss, at.data(), target.data(), p, g.data());
        curvature += weights[i] * sign * g[j] / (2 * step);
      }
      at[j] = f(i, j);
    }
  }
  if (!(slopes > 0) || !(curvature > 0)) return 1;
  return slopes / total / (squares * curvature / total);
}

}  // namespace

bool has_scale(const Loss& loss) {
  const LossParameters parameters = loss_parameters(loss);
  return parameters.contains("kappa") || parameters.contains("epsilon");
}

Loss scaled_loss(const Loss& loss, double median_residual, double rows) {
  if (!has_scale(loss) || !(median_residual > 0)) return loss;
  LossParameters parameters = loss_parameters(loss);
  const double deviation = median_residual / 0.6745;
  if (parameters.contains("kappa")) parameters["kappa"] = {2 * median_residual};
  if (parameters.contains("epsilon")) {
    parameters["epsilon"] = {deviation * std::min(0.5, 3 * std::sqrt(std::log(rows) / rows))};
  }
  return make_loss(loss_name(loss), parameters);
}

double median_residual(const Matrix<double>& residuals, const Vector<double>& weights) {
  const Vector<double> norms = residuals.rowwise().norm();
  const Vector<double> seen = (norms.array() > 0).select(weights, 0.0);  // rows without a target have residuals 0
  return seen.sum() > 0 ? weighted_quantile(norms, seen, 0.5) : 0;
}

double loss_alpha(const Loss& loss, double squared_alpha, const Matrix<double>& predictions,
                  const Matrix<double>& targets, const Vector<double>& weights) {
  return std::visit(
      [&]<class L>(const L& one) {
        if constexpr (std::same_as<L, Logistic>) {
          // Probabilities p have errors of variance v = E p (1 - p), which is both E l'^2 and E l'' of the logistic
          // loss; its scores vary 1 / v times as much as p: alpha v^2 / v. Targets are 0 and 1, or of one output -1
          // and 1.
          const double range = targets.cols() == 1 ? 2 : 1, count = weights.sum() * static_cast<double>(targets.cols());
          const double v = (targets - predictions).rowwise().squaredNorm().dot(weights) / (range * range * count);
          return squared_alpha * std::max(v, 0.005);
        } else if constexpr (std::same_as<L, Pinball>) {
          // Quantiles are about f + their quantile of the residuals; levels count alike.
          double logs = 0, count = 0;
          for (const double level : one.levels) {
            for (Index j = 0; j < targets.cols(); ++j) {
              std::vector<Index> there;
              for (Index i = 0; i < targets.rows(); ++i) {
                if (has_target(targets(i, j))) there.push_back(i);
              }
              if (there.empty()) continue;
              const Matrix<double> y = targets.col(j)(there);
              const Vector<double> w = weights(there), residuals = y - predictions.col(j)(there);
              // The row that is the quantile is beside the kink, not on it, where rounding would choose its slope.
              const double aside = 1e-5 * std::sqrt(residuals.cwiseAbs2().dot(w) / w.sum());
              const Matrix<double> f =
                  predictions.col(j)(there).array() + weighted_quantile(residuals, w, level) - aside;
              // The noise that is compared with is that about the mean.
              const double about = (y - f).cwiseAbs2().col(0).dot(w), mean = residuals.cwiseAbs2().dot(w);
              const double ratio = noise_to_signal(Pinball({level}), f, y, w);
              logs += std::log(mean > 0 ? ratio * about / mean : ratio);
              ++count;
            }
          }
          return squared_alpha * std::exp(logs / count);
        } else {
          return squared_alpha * noise_to_signal(one, predictions, targets, weights);
        }
      },
      loss);
}

}  // namespace carmina
