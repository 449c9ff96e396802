// solvers/losses/convex_loss.cpp -- the method of multipliers around Newton or L-BFGS steps, and the certificate that
// ends it.
#include "solvers/losses/convex_loss.hpp"
#include "backends/tiled.hpp"
#include "solvers/losses/loss_rows.hpp"
#include "solvers/losses/newton_direction.hpp"
#include "solvers/losses/row_sweeps.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace carmina {
namespace {

class ConvexLossSolver {
 public:
  ConvexLossSolver(const FeatureRows& features, const CoefficientSpace& space, ConvexLossProblem problem,
                   Direction direction, const IterationOptions& options, const Execution& execution,
                   SolveReport& report)
      : ConvexLossSolver(features, space,
                         LossRows(problem.loss, std::move(problem.targets), std::move(problem.weights), execution),
                         problem.alpha, problem.fit_intercept, direction, options, execution, report) {}

  ConvexLossSolver(const FeatureRows& features, const CoefficientSpace& space, LossRows rows, double alpha,
                   bool fit_intercept, Direction direction, const IterationOptions& options, const Execution& execution,
                   SolveReport& report)
      : rows_(std::move(rows)),
        model_(features, space, rows_, alpha, fit_intercept, execution),
        options_(options),
        execution_(execution),
        report_(report),
        direction_(direction),
        loop_({options.checkpoint, word()}, [this](LoopState& state) { name(state); }) {}

  LinearSolution run() {
    if (!loop_.resumed()) start();
    rounding_ = rounding_of_loss();
    inside_ = loop_.resumed();
    while (true) {
      const Index made = minimise(options_.max_iter - steps_);
      steps_ += made;
      const double gap = certify();
      execution_.checkpoint({"solving", steps_, options_.max_iter, "iteration"});
      if (gap <= options_.tol || steps_ >= options_.max_iter) break;
      if (stalled_ && (rho_ == 0 || ++stalls_ > 20)) break;
      idle_rounds_ = made == 0 ? idle_rounds_ + 1 : 0;
      if (idle_rounds_ > 60) break;
      if (rho_ > 0) {
        // Multipliers that move while the point does not would run away from it.
        if (made > 0 || stalled_) lambda_ = G_;
        // Multipliers close the gap by themselves when rho is small; a smaller rho only costs more Newton steps.
        // One too small leaves a problem that rounding hides.
        if (stalled_) {
          rho_ *= 8;
        } else if (gap > last_gap_ / 4) {
          rho_ /= 2;
        }
      } else if (gap >= last_gap_) {
        break;  // rounding
      }
      last_gap_ = gap;
    }
    finish();
    return model_.solution(best_);
  }

 private:
  // A part of what a constant leaves of the loss, or what the rounding of the constant itself costs: a row of a weight
  // of 1e30 says nothing of the others.
  double rounding_of_loss() const {
    Matrix<double> F = Matrix<double>::Zero(rows_.rows(), rows_.outputs());
    if (!model_.has_intercept()) return 1e-12 * std::abs(rows_.value(F));
    F.rowwise() += rows_.target_means().transpose();
    const double left = std::abs(rows_.value(F));
    F *= 1 + 8 * std::numeric_limits<double>::epsilon();
    return std::max(1e-12 * left, std::abs(rows_.value(F) - left));
  }

  // The ridge solution, or the solution of fewer rows, or of row after row; then a step rho of the size of the
  // residuals.
  void start() {
    lambda_ = Matrix<double>::Zero(rows_.rows(), rows_.outputs());
    double share = 1;
    if (model_.kernel() && narrow_kernel(*model_.kernel())) {
      lambda_ = sweep_rows(model_, at_);
      share = 0.2;
    } else if (by_fewer_rows()) {
      share = start_from_fewer_rows();
    } else {
      at_ = model_.ridge_solution();
    }
    model_.values(at_, F_);
    if (!rows_.smooth()) {
      const double deviation = rows_.mean_deviation(F_);
      const double spread = rows_.mean_deviation(Matrix<double>::Zero(rows_.rows(), rows_.outputs()));
      rho_ = std::max(deviation, 1e-6 * spread);
      if (rho_ == 0) rho_ = 1;
      rho_ *= share;
    }
    best_ = at_;
    best_value_ = rows_.value(F_) + model_.penalty(at_);
    lower_ = -std::numeric_limits<double>::infinity();
  }

  static constexpr Index few_rows = 150, third = 3;

  // Whether some rows are a start: always for those of a kernel; for features if a kernel matrix of that many rows is
  // less work than the Gram matrix of all of them.
  bool by_fewer_rows() const {
    const Index m = model_.features().features();
    return model_.kernel() || (!model_.has_blocks() && by_rows(model_.space(), rows_.loss()) &&
                               rows_.rows() > few_rows && rows_.rows() <= 12 * m);
  }

  // Every third row, of three times its weight (or fewer rows, as many as features), solved roughly: a good guess for
  // the few systems of this size. Their multipliers serve for them, the slopes at the guess for the others; too few
  // rows of a kernel start from a constant. Returns what part of the deviation rho should be: how much better the rows
  // that were solved fit than all do tells how far the guess is off.
  double start_from_fewer_rows() {
    const Index n = rows_.rows(), p = rows_.outputs();
    std::vector<Index> weighty, numbers;
    double weight = 0;
    for (Index i = 0; i < n; ++i) {
      if (rows_.weight(i) > 0) weighty.push_back(i);
    }
    const auto all_weighty = static_cast<Index>(weighty.size());
    Index step = third;
    if (!model_.kernel()) step = std::max(step, all_weighty / model_.features().features());
    for (Index k = 0; k < all_weighty; k += step) {
      numbers.push_back(weighty[static_cast<std::size_t>(k)]);
      weight += rows_.weight(numbers.back());
    }
    if (model_.kernel()) at_ = {Vector<double>::Zero(n * p), Vector<double>::Zero(p), Vector<double>::Zero(n * p)};
    if (all_weighty <= few_rows) {
      if (model_.kernel() && model_.has_intercept()) at_.b = rows_.target_means();
      return 1;
    }
    const auto count = static_cast<Index>(numbers.size());
    Matrix<double> K, phi;
    if (model_.kernel()) {
      K = (*model_.kernel())(numbers, numbers);
    } else {
      phi = model_.features_of(numbers).transpose();
      K.setZero(count, count);
      backend::add_gram(count, phi.rows(), phi.data(), count, K.data(), count, execution_);
      K.triangularView<Eigen::StrictlyUpper>() = K.transpose();
    }
    const auto products = kernel_rows(K, execution_);
    const CoefficientSpace space = model_.space().with_features(count);
    SolveReport report;
    ConvexLossSolver fewer(*products, space, rows_.some(numbers, rows_.total_weight() / weight), model_.alpha(),
                           model_.has_intercept(), Direction::newton, {options_.max_iter, std::max(options_.tol, 1e-2)},
                           execution_, report);
    fewer.run();
    take(fewer.best_, numbers, phi);
    if (rows_.smooth()) return 1;
    model_.values(at_, F_);
    rows_.envelope(F_, lambda_, 0, lambda_);
    for (Index k = 0; k < count; ++k) lambda_.row(numbers[static_cast<std::size_t>(k)]) = fewer.G_.row(k);
    fewer.model_.values(fewer.best_, fewer.F_);
    const double known = fewer.rows_.mean_deviation(fewer.F_), all = rows_.mean_deviation(F_);
    return all > 0 ? std::max(0.2, 1 - known / all) : 1;
  }

  // Coefficients c of some rows, as a point: phi c of features (features, rows), whose mean the intercept is to make up
  // for.
  void take(const Point& few, const std::vector<Index>& numbers, const Matrix<double>& phi) {
    const Index p = rows_.outputs();
    const auto count = static_cast<Index>(numbers.size());
    if (!model_.kernel()) {
      const Matrix<double> C = phi * Eigen::Map<const Matrix<double>>(few.theta.data(), count, p);
      at_ = {Eigen::Map<const Vector<double>>(C.data(), C.size()), few.b};
      at_.b += model_.mean_values(model_.space().expand(at_.theta));
      return;
    }
    at_.b = few.b;
    for (Index k = 0; k < count; ++k) {
      at_.theta.segment(numbers[static_cast<std::size_t>(k)] * p, p) = few.theta.segment(k * p, p);
    }
    model_.set_image(at_);
  }

  // Steps on the smooth problem of the current rho and lambda until its gradient adds little to the gap.
  Index minimise(Index allowed) {
    const double value = rows_.envelope(F_, lambda_, rho_, G_);
    if (!inside_) {
      step_ = 0;
      memory_ = {};
      objective_ = value + model_.penalty(at_);
      gradient_ = model_.gradient(at_, G_);
      stalled_ = false;
    }
    inside_ = false;
    for (;; ++step_) {
      loop_.step();
      if (small(gradient_, step_ == 0) || step_ >= allowed) return step_;
      execution_.checkpoint({"solving", step_, 0, "iteration"});
      Point move;
      if (direction_ == Direction::newton) {
        rows_.curvatures(F_, lambda_, rho_, curvatures_);
        move = newton_direction(model_, curvatures_, gradient_);
      } else {
        rows_.curvatures(F_, lambda_, rho_, curvatures_);
        move = memory_.direction(model_, std::max(curvatures_.mean, 1e-12), gradient_);
      }
      double slope = model_.dot(gradient_, move);
      if (!(slope < 0)) {  // rounding, or curvature that was all zero
        move = model_.precondition(std::max(curvatures_.mean, 1e-12), gradient_).scaled(-1);
        slope = model_.dot(gradient_, move);
        if (!(slope < 0)) return stall(step_);
      }
      model_.values(move, dF_);
      double next = objective_;
      const double t = line_search(move, slope, next);
      if (t == 0) return stall(step_);
      const Point before = gradient_;
      at_ = at_.plus(move, t);
      F_.swap(trial_);
      gradient_ = model_.gradient(at_, G_, before, t);
      if (direction_ == Direction::lbfgs) memory_.remember(move.scaled(t), gradient_.plus(before, -1));
      const bool no_progress = objective_ - next <= 1e-15 * std::abs(objective_);
      objective_ = next;
      if (no_progress && ++idle_ > 3) return stall(step_ + 1);
      if (!no_progress) idle_ = 0;
    }
  }

  // A step along `move` that lowers the objective and leaves at most half of the slope, by size; trial_ is F there,
  // `objective` the value. 0: none. The slope only grows with t, so the secant's point between a falling and a rising
  // end, pulled towards the older end (the Illinois rule), closes in on its zero.
  double line_search(const Point& move, double slope, double& objective) {
    const double curved = model_.alpha() * move.inner(move), linear = model_.alpha() * at_.inner(move);
    const double start = objective, penalty = model_.penalty(at_);
    const auto slope_at = [&](double t) {
      trial_ = F_ + t * dF_;
      objective = rows_.envelope(trial_, lambda_, rho_, G_) + penalty + t * linear + t * t * curved / 2;
      return rows_.weighted_dot(G_, dF_) + linear + t * curved;
    };
    const auto lower = [&](double t) { return objective <= start + 1e-4 * t * slope + 1e-15 * std::abs(start); };
    double low = 0, high = 1, at_low = slope, at_high = slope_at(1);
    if (at_high <= 0.5 * std::abs(slope) && lower(1)) return 1;  // also while it still falls: no step is made longer
    for (int k = 0; k < 60; ++k) {
      const double t = std::clamp(low - at_low * (high - low) / (at_high - at_low), low + 0.01 * (high - low),
                                  high - 0.01 * (high - low));
      const double here = slope_at(t);
      if (std::abs(here) <= 0.5 * std::abs(slope) && lower(t)) return t;
      if (here < 0) {
        low = t, at_low = here, at_high /= 2;
      } else {
        high = t, at_high = here, at_low /= 2;
      }
    }
    if (low > 0) slope_at(low);
    return low;
  }

  Index stall(Index step) {
    rows_.envelope(F_, lambda_, rho_, G_);
    stalled_ = true;
    return step;
  }

  // What gaps are relative to: |J|, or the rounding of the loss where a model can be perfect.
  double scale() const { return std::max({std::abs(best_value_), rounding_, 1e-300}); }

  // |gradient|^2 / (2 alpha) is what theta adds to the duality gap; the intercept's part is a sum that must vanish.
  // Each smooth problem but the last is solved to a part of the gap alone, by one step at least.
  bool small(const Point& gradient, bool first) const {
    const double target = std::max(0.3 * options_.tol, first || rho_ == 0 ? 0.0 : 0.03 * last_relative_gap_);
    const double allowed = target * scale();
    const double of_intercept = gradient.b.norm() * rows_.mean_deviation(F_);
    return gradient.inner(gradient) / (2 * model_.alpha()) <= allowed && of_intercept <= allowed;
  }

  // The relative gap between the best value seen and the best lower bound. Steps leave rounding behind in F; of a
  // kernel, where K theta is carried along, only what is to be the last gap is freed of it.
  double certify() {
    model_.values(at_, F_);
    const double value = rows_.value(F_) + model_.penalty(at_);
    if (value <= best_value_) {
      best_value_ = value;
      best_ = at_;
    }
    lower_ = std::max(lower_, model_.lower_bound(G_, at_));
    if (model_.kernel() && best_value_ - lower_ <= options_.tol * scale()) {
      model_.set_image(best_);
      at_ = best_;
      model_.values(at_, F_);
      best_value_ = rows_.value(F_) + model_.penalty(at_);
    }
    last_relative_gap_ = std::max(0.0, best_value_ - lower_) / scale();
    return last_relative_gap_;
  }

  const char* word() const { return direction_ == Direction::newton ? "newton" : "lbfgs"; }

  // Where a step of minimise() begins. G_ is the envelope's slope at F_, and not named.
  void name(LoopState& state) {
    at_.name(state, "at"), best_.name(state, "best"), gradient_.name(state, "gradient"), memory_.name(state);
    state("F", F_), state("lambda", lambda_), state("rho", rho_), state("objective", objective_);
    state("best_value", best_value_), state("lower", lower_), state("gap", last_relative_gap_);
    state("last_gap", last_gap_), state("steps", steps_), state("step", step_), state("idle", idle_);
    state("stalls", stalls_), state("idle_rounds", idle_rounds_);
  }

  void finish() {
    report_.solver = word();
    report_.iterations = std::max<Index>(steps_, 1);
    report_.residual = last_relative_gap_;
    report_.objective = best_value_;
    if (last_relative_gap_ <= options_.tol) return;
    report_.status = SolveStatus::not_converged;
    report_.message = format_text(
        "{} stopped after {} steps at a relative duality gap of {:.1e}, above tol = {:.1e}; "
        "allow more iterations or a larger tol",
        report_.solver, steps_, last_relative_gap_, options_.tol);
  }

  LossRows rows_;
  NewtonModel model_;
  const IterationOptions options_;
  const Execution execution_;
  SolveReport& report_;
  Direction direction_;

  Point at_, best_;
  Matrix<double> F_, dF_, trial_, G_, lambda_;  // (n, p)
  RowCurvatures curvatures_;
  double rho_ = 0, best_value_ = 0, rounding_ = 0, lower_ = 0, last_relative_gap_ = 1;
  double last_gap_ = std::numeric_limits<double>::infinity();
  Index steps_ = 0;
  int idle_ = 0, stalls_ = 0, idle_rounds_ = 0;
  bool stalled_ = false;

  // Of the steps on one smooth problem; `inside_`: they were resumed.
  Point gradient_;
  LimitedMemory memory_;
  double objective_ = 0;
  Index step_ = 0;
  bool inside_ = false;
  Resumable loop_;
};

}  // namespace

LinearSolution solve_convex_loss(const FeatureRows& features, const CoefficientSpace& space, ConvexLossProblem problem,
                                 Direction direction, const IterationOptions& options, const Execution& execution,
                                 SolveReport& report) {
  require(problem.alpha > 0, "fit: alpha must be positive for a loss other than the squared one, found {}",
          problem.alpha);
  require(!features.kernel() || (direction == Direction::newton && by_rows(space, problem.loss)),
          "fit: rows of a kernel are for Newton's method and separate outputs");
  return ConvexLossSolver(features, space, std::move(problem), direction, options, execution, report).run();
}

}  // namespace carmina
