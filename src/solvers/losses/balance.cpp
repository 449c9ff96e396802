// solvers/losses/balance.cpp -- dual variables whose weighted sum is zero, as the lower bound of a model with an
// intercept needs them.
#include "losses/row_functions.hpp"
#include "solvers/losses/loss_rows.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <vector>

namespace carmina {

// Moves numbers g_i of some rows by the same amount, clipped to [low_i, high_i], so that their weighted sum and
// `others` make zero; false when the intervals do not allow it. The sum falls with the amount, so bisection finds it.
bool LossRows::shift_to_zero(const std::vector<Index>& some, double others, const Interval& interval, double* g,
                             Index stride) const {
  double widest = 0, size = std::abs(others);
  for (const Index i : some) {
    const auto [low, high] = interval(i);
    widest = std::max(widest, high - low);
    size += weight(i) * std::abs(g[i * stride]);
  }
  const auto clipped = [&](Index i, double c) {
    const auto [low, high] = interval(i);
    return std::clamp(g[i * stride] - c, low, high);
  };
  const auto sum_at = [&](double c) {
    double sum = others;
    for (const Index i : some) sum += weight(i) * clipped(i, c);
    return sum;
  };
  double below = -widest, above = widest;
  if (sum_at(below) < 0 || sum_at(above) > 0) return false;
  if (std::abs(sum_at(0)) <= 1e-15 * size) return true;
  for (int step = 0; step < 80; ++step) {
    const double c = (below + above) / 2;
    (sum_at(c) > 0 ? below : above) = c;
  }
  const double c = (below + above) / 2;
  for (const Index i : some) g[i * stride] = clipped(i, c);
  return true;
}

// Losses of a whole row: g_i = s_i - y_i, with shares s_i, become the gradients at predictions with an intercept c
// more, where sum_i w_i log(sum_j s_ij exp c_j) - c . sum_i w_i y_i is least: Newton's method in p numbers. A class
// without a row takes no share. Where that fails, all g_i = 0 serve: a lower bound of 0.
template <class L>
void LossRows::balance_shares(const L& loss, Matrix<double>& G) const {
  const Index n = rows(), p = outputs();
  const auto shift_all = [&](Matrix<double>& of, const Vector<double>& growth) {
    for (Index i = 0; i < n; ++i) loss.shift(of.data() + i * p, targets_.data() + i * p, growth.data(), p);
  };
  // s_ij of class j, of one output that of y = 1
  const auto indicator = [&](Index i, Index j) { return p == 1 ? double(targets_(i, 0) > 0) : targets_(i, j); };
  Vector<double> of_class = Vector<double>::Zero(p);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < p; ++j) of_class[j] += weight(i) * indicator(i, j);
  }
  if (p == 1 && (of_class[0] == 0 || of_class[0] == total_weight_)) {
    G.setZero();
    return;
  }
  if (p > 1 && (of_class.array() == 0).any()) shift_all(G, (of_class.array() > 0).cast<double>());
  Vector<double> excess = sums(G);
  double size = excess.norm();
  const double enough = 1e-14 * total_weight_;
  for (int round = 0; round < 100 && size > enough; ++round) {
    Eigen::MatrixXd H = Eigen::MatrixXd::Zero(p, p);
    Vector<double> s(p);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < p; ++j) s[j] = G(i, j) + indicator(i, j);
      H.diagonal() += weight(i) * s;
      H.selfadjointView<Eigen::Lower>().rankUpdate(s, -weight(i));
    }
    H = H.selfadjointView<Eigen::Lower>();
    const double trace = H.trace();
    if (!(trace > 0)) break;
    // A common amount changes nothing, an empty class neither.
    if (p > 1) H.array() += trace / static_cast<double>(p * p);
    H.diagonal().array() += 1e-15 * trace;
    const Vector<double> step = (-H.ldlt().solve(excess)).cwiseMax(-5.0).cwiseMin(5.0);
    double t = 1;
    Matrix<double> trial;
    Vector<double> left;
    for (int half = 0; half < 30; ++half, t /= 2) {
      trial = G;
      shift_all(trial, (t * step.array()).exp());
      left = sums(trial);
      if (left.norm() < size) break;
    }
    if (!(left.norm() < size)) break;  // rounding
    G.swap(trial);
    excess = left;
    size = left.norm();
  }
  if (!(size <= 100 * enough)) G.setZero();
}

// Radial losses of several outputs: all g_i move by the same amount, then shrink until the largest is inside the ball;
// the sum stays zero. The others: an interval for each output. Numbers inside theirs move, if that is enough: to move
// one at an end or zero, where a row far from a kink is, costs more. Else all do, and it is enough because every
// interval holds 0.
void LossRows::balance(Matrix<double>& G) const {
  const Index n = rows(), p = outputs();
  std::visit(
      [&]<class L>(const L& loss) {
        if constexpr (WholeRowLoss<L>) {
          balance_shares(loss, G);
        } else {
          if constexpr (L::radial) {
            if (p > 1 || std::isinf(loss.radius())) {
              const Vector<double> sum = sums(G);
              for (Index i = 0; i < n; ++i) {
                for (Index j = 0; j < p; ++j) {
                  if (has_target(targets_(i, j))) G(i, j) -= sum[j] / target_weights_[j];
                }
              }
              const double largest = G.rowwise().norm().maxCoeff();
              if (largest > loss.radius()) G *= loss.radius() / largest;
              return;
            }
          }
          for (Index j = 0; j < p; ++j) {
            const Interval interval = [&](Index i) -> std::pair<double, double> {
              if constexpr (L::radial) {
                return {-loss.radius(), loss.radius()};
              } else {
                return {loss.low(targets_(i, j), j), loss.high(targets_(i, j), j)};
              }
            };
            std::vector<Index> inside, all;
            double at_ends = 0;
            for (Index i = 0; i < n; ++i) {
              if (!has_target(targets_(i, j))) continue;
              const auto [low, high] = interval(i);
              all.push_back(i);
              if (G(i, j) > low && G(i, j) < high && G(i, j) != 0) {
                inside.push_back(i);
              } else {
                at_ends += weight(i) * G(i, j);
              }
            }
            if (!shift_to_zero(inside, at_ends, interval, G.data() + j, p)) {
              shift_to_zero(all, 0, interval, G.data() + j, p);
            }
          }
        }
      },
      loss_);
}

}  // namespace carmina
