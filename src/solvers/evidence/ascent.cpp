// solvers/evidence/ascent.cpp -- L-BFGS with a weak Wolfe line search, Adam, and when to stop.
#include "solvers/evidence/ascent.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace carmina {
namespace {

constexpr std::size_t moves_kept = 10;
constexpr int largest_search = 30;
constexpr Index slow_steps = 10;

struct Move {
  Vector<double> step, change;  // change of the gradient of -f
};

// H g by two loops, H about the inverse of the second derivatives of -f.
Vector<double> ascent_direction(const std::deque<Move>& moves, Vector<double> g) {
  std::vector<double> factors;
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    factors.push_back(move->step.dot(g) / move->step.dot(move->change));
    g -= factors.back() * move->change;
  }
  if (!moves.empty()) g *= moves.back().step.dot(moves.back().change) / moves.back().change.squaredNorm();
  for (const Move& move : moves) {
    g += (factors.back() - move.change.dot(g) / move.step.dot(move.change)) * move.step;
    factors.pop_back();
  }
  return g;
}

}  // namespace

AscentResult lbfgs_ascent(const SmoothObjective& objective, Vector<double> start, const AscentOptions& options,
                          const AscentStep& on_step) {
  AscentResult result;
  Vector<double> gradient(start.size()), next_gradient(start.size());
  result.at = std::move(start);
  std::deque<Move> moves;
  Resumable loop(options.saved, [&](LoopState& state) {
    std::size_t kept = moves.size();
    state("at", result.at), state("value", result.value), state("iterations", result.iterations);
    state("converged", result.converged), state("values", result.values), state("gradient", gradient);
    state("moves", kept);
    kept = std::min(kept, moves_kept);
    moves.resize(kept);
    for (std::size_t k = 0; k < kept; ++k) {
      state(format_text("step {}", k), moves[k].step), state(format_text("change {}", k), moves[k].change);
    }
  });
  if (!loop.resumed()) result.value = objective(result.at, &gradient);
  if (!std::isfinite(result.value) || !gradient.allFinite()) {
    require(!options.finite_start, "lbfgs: the function is not finite at the start");
    result.value = -std::numeric_limits<double>::infinity();
    return result;
  }
  while (!loop.ended() && result.iterations < options.max_iter) {
    loop.step();
    Vector<double> direction = ascent_direction(moves, gradient);
    double slope = direction.dot(gradient);
    if (!(slope > 0) || !direction.allFinite()) moves.clear(), direction = gradient, slope = gradient.squaredNorm();
    if (!(slope > 0)) {
      result.converged = true;
      break;
    }
    if (moves.empty()) direction *= std::min(1.0, 0.1 / direction.norm()), slope = direction.dot(gradient);

    double low = 0, high = 0, t = 1, value = 0;
    Vector<double> next;
    bool found = false;
    for (int k = 0; k < largest_search && !found; ++k) {
      next = result.at + t * direction;
      value = objective(next, &next_gradient);
      if (!(value >= result.value + 1e-4 * t * slope) || !next_gradient.allFinite()) {
        high = t;
      } else if (next_gradient.dot(direction) > 0.9 * slope) {
        low = t;
      } else {
        found = true;
        break;
      }
      t = high > 0 ? (low + high) / 2 : 2 * t;
      if (high > 0 && (high - low) * direction.norm() < 1e-14 * (1 + result.at.norm())) break;
    }
    if (!found && !(value > result.value)) {
      // No step rises: a fresh start along the gradient, or the end where that was one.
      if (!moves.empty()) {
        moves.clear();
        continue;
      }
      result.converged = true;
      break;
    }
    Move move{next - result.at, gradient - next_gradient};
    if (move.step.dot(move.change) > 1e-12 * move.step.norm() * move.change.norm()) {
      moves.push_back(std::move(move));
      if (moves.size() > moves_kept) moves.pop_front();
    }
    result.at = std::move(next);
    std::swap(gradient, next_gradient);
    result.value = value;
    result.values.push_back(value);
    ++result.iterations;
    if (on_step) on_step(result.iterations, value);
    const auto count = static_cast<Index>(result.values.size());
    if (count > slow_steps) {
      const double before = result.values[static_cast<std::size_t>(count - 1 - slow_steps)];
      if (value - before <= options.tol * std::max(1.0, std::abs(value))) {
        result.converged = true;
        break;
      }
    }
  }
  loop.end();
  return result;
}

void AdamAscent::step(const Vector<double>& gradient, double rate, Vector<double>& at) {
  constexpr double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-12;
  power1_ *= beta1, power2_ *= beta2;
  first_ = beta1 * first_ + (1 - beta1) * gradient;
  second_ = beta2 * second_ + (1 - beta2) * gradient.cwiseAbs2();
  at.array() += rate * (first_.array() / (1 - power1_)) / ((second_.array() / (1 - power2_)).sqrt() + epsilon);
}

bool Plateau::reached(double value) {
  sum_ += value;
  if (++seen_ % window_ != 0) return false;
  const double mean = sum_ / static_cast<double>(window_);
  sum_ = 0;
  if (!any_ || mean > best_ + tol_ * std::max(1.0, std::abs(best_))) {
    best_ = any_ ? std::max(best_, mean) : mean;
    any_ = true;
    without_ = 0;
  } else {
    ++without_;
  }
  return without_ >= patience_;
}

}  // namespace carmina
