// solvers/losses/adam_convex_loss.cpp -- mini-batches with Adam's steps for any loss, stopped by the loss of rows held
// out.
//
// The steps are on the mean over the training rows, sum_i w_i l(f_i + b, y_i) / W' + (alpha / W) |theta|^2 / 2, with W
// the weight of all rows and W' that of the training rows. Where a loss has a kink, a subgradient serves.
#include "backends/blas.hpp"
#include "backends/tiled.hpp"
#include "solvers/losses/batch_order.hpp"
#include "solvers/losses/loss_model.hpp"

#include <carmina/core/error.hpp>
#include <carmina/data/splits.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

constexpr Index largest_batch = 256;
constexpr Index idle_epochs = 5, idle_steps = 50;  // without a smaller objective: steps are halved,
constexpr double longer = 1.5;          // and the next wait is longer: steps must not fall faster than they lead on
constexpr double epochs_averaged = 10;  // subgradients of a row, for the lower bound
constexpr double shortest_step = 1e-6;  // of the first: what is left to gain is below rounding
constexpr double improvement = 1e-4;    // of the held-out loss, relative, that is worth waiting for more

class AdamSolver {
 public:
  AdamSolver(const FeatureRows& features, const CoefficientSpace& space, ConvexLossProblem problem,
             const AdamOptions& adam, const IterationOptions& options, const Execution& execution, SolveReport& report)
      : rows_(problem.loss, std::move(problem.targets), std::move(problem.weights), execution),
        model_(features, space, rows_, problem.alpha, problem.fit_intercept, execution),
        adam_(adam),
        options_(options),
        random_(adam.seed, Stream::batches),
        report_(report) {}

  LinearSolution run() {
    start();
    Index epoch = 0, last_gain = 0, idle = 0;
    double wait = idle_epochs;
    bool stopped = false;
    Resumable loop({options_.checkpoint, "adam"}, [&](LoopState& state) {
      state("epoch", epoch), state("last_gain", last_gain), state("idle", idle), state("wait", wait);
      state("stopped", stopped), state("rate", rate_), state("lowest", lowest_), state("least", least_);
      state("best_epoch", best_epoch_), state("steps", steps_), state("unit", unit_), state("slopes", slopes_);
      at_.name(state, "at"), best_.name(state, "best"), first_.name(state, "first"), second_.name(state, "second");
    });
    while (!loop.ended() && epoch < options_.max_iter && !stopped && rate_ > shortest_step * adam_.learning_rate) {
      loop.step();
      model_.execution().checkpoint({"adam", epoch++, options_.max_iter, "iteration"});
      const Point average = one_epoch(epoch);
      const auto [objective, held_out] = evaluate(average);
      idle = objective < lowest_ ? 0 : idle + 1;
      lowest_ = std::min(lowest_, objective);
      if (n_held_ > 0) {
        const bool counts = objective <= begin_;  // else its penalty is larger than all that there is to gain
        if (counts && held_out < (1 - improvement) * least_) last_gain = epoch;
        if (counts && held_out < least_) least_ = held_out, best_ = average, best_epoch_ = epoch;
        stopped = epoch - last_gain >= adam_.patience;
      } else {
        if (idle == 0) best_ = average, best_epoch_ = epoch;
        stopped = objective * rows_.total_weight() <= adam_.enough;
      }
      if (static_cast<double>(idle) >= wait && idle * (steps_ / epoch) >= idle_steps) {
        rate_ /= 2;
        wait *= longer;
        idle = 0;
        stopped = stopped || (n_held_ == 0 && gap() <= goal());
      }
    }
    loop.end();
    finish(epoch, stopped);
    return model_.solution(best_);
  }

 private:
  double goal() const { return std::sqrt(options_.tol); }

  void start() {
    split();
    const Index p = rows_.outputs();
    at_ = {Vector<double>::Zero(model_.space().dim()), Vector<double>::Zero(p)};
    if (model_.has_intercept()) {
      Vector<double> weight = Vector<double>::Zero(p);
      for (Index i = 0; i < rows_.rows(); ++i) {
        for (Index j = 0; training_[static_cast<std::size_t>(i)] && j < p; ++j) {
          const double y = rows_.targets()(i, j);
          if (std::isnan(y)) continue;
          weight[j] += rows_.weight(i);
          at_.b[j] += rows_.weight(i) * y;
        }
      }
      at_.b = (weight.array() > 0).select(at_.b.cwiseQuotient(weight), 0.0);
    }
    spread_ = rows_.mean_deviation(at_.b.transpose().replicate(rows_.rows(), 1));
    if (!(spread_ > 0)) spread_ = 1;
    first_ = second_ = at_.scaled(0);
    rate_ = adam_.learning_rate;
    best_ = at_;
    slopes_ = Matrix<double>::Zero(rows_.rows(), p);
    const auto [objective, held_out] = evaluate(at_);
    lowest_ = begin_ = objective;
    least_ = held_out;
  }

  // Rows without a weight take no part.
  void split() {
    std::vector<Index> weighty;
    for (Index i = 0; i < rows_.rows(); ++i) {
      if (rows_.weight(i) > 0) weighty.push_back(i);
    }
    training_.assign(static_cast<std::size_t>(rows_.rows()), false);
    for (const Index i : weighty) training_[static_cast<std::size_t>(i)] = true;
    if (adam_.validation_fraction > 0 && weighty.size() > 1) {
      const Split parts = train_test_split(static_cast<Index>(weighty.size()), adam_.validation_fraction, adam_.seed);
      for (const Index k : parts.test) {
        training_[static_cast<std::size_t>(weighty[static_cast<std::size_t>(k)])] = false;
      }
      n_held_ = static_cast<Index>(parts.test.size());
    }
    n_training_ = static_cast<Index>(weighty.size()) - n_held_;
    for (Index i = 0; i < rows_.rows(); ++i) {
      if (training_[static_cast<std::size_t>(i)]) training_weight_ += rows_.weight(i);
    }
    batch_ = std::clamp<Index>(n_training_ / 16, 8, largest_batch);
  }

  // Returns the mean of where its steps came to, which has less of their noise [Kingma2015, Sec. 7.2].
  Point one_epoch(Index epoch) {
    Point sum = at_.scaled(0);
    Index steps = 0;
    model_.features().windows([&](Index first_row, Index rows, const FeatureRows::Gather& gather) {
      std::vector<Index> order = shuffled(rows, first_row, random_, epoch);
      std::erase_if(order, [&](Index k) { return !training_[static_cast<std::size_t>(first_row + k)]; });
      const auto count = static_cast<Index>(order.size());
      for (Index begin = 0; begin < count; begin += batch_) {
        const Index size = std::min(batch_, count - begin);
        gather(order.data() + begin, size, phi_);
        numbers_.resize(static_cast<std::size_t>(size));
        for (Index k = 0; k < size; ++k) {
          numbers_[static_cast<std::size_t>(k)] = first_row + order[static_cast<std::size_t>(begin + k)];
        }
        step(gradient(size));
        sum.theta += at_.theta;
        sum.b += at_.b;
        ++steps;
      }
    });
    return sum.scaled(1 / static_cast<double>(steps));
  }

  // Of the mean loss, estimated from the batch in phi_, and of the penalty.
  Point gradient(Index size) {
    using backend::Transpose;
    const Index p = rows_.outputs();
    const Matrix<double> C = model_.space().expand(at_.theta);
    const Index m = C.rows(), q = C.cols(), products = phi_.rows();  // blocks: p products a row, of one column
    F_.resize(size, p);
    backend::gemm<double>(Transpose::no, Transpose::no, products, q, m, 1.0, phi_.data(), m, C.data(), q, 0.0,
                          F_.data(), q);
    F_.rowwise() += (at_.b - model_.mean_values(C)).transpose();
    rows_.slopes(F_, numbers_.data(), G_);
    const double scale = static_cast<double>(n_training_) / (static_cast<double>(size) * training_weight_);
    for (Index k = 0; k < size; ++k) {
      const Index i = numbers_[static_cast<std::size_t>(k)];
      slopes_.row(i) += (G_.row(k) - slopes_.row(i)) / epochs_averaged;
      G_.row(k) *= scale * rows_.weight(i);
    }
    Matrix<double> sums(m, q);
    backend::gemm<double>(Transpose::yes, Transpose::no, m, q, products, 1.0, phi_.data(), m, G_.data(), q, 0.0,
                          sums.data(), q);
    const Vector<double> total = G_.colwise().sum().transpose();
    model_.centre(sums, total);
    if (unit_ == 0) unit_ = std::sqrt(static_cast<double>(products)) / std::max(phi_.norm(), 1e-300);
    return {model_.space().contract(sums) + model_.alpha() / rows_.total_weight() * at_.theta, total};
  }

  // [Kingma2015, Algorithm 1]. A step of rate 1 moves a prediction by about the spread of the targets, through one
  // coefficient or the intercept.
  void step(const Point& slope) {
    constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    const auto t = static_cast<double>(++steps_);
    const double unbias1 = 1 - std::pow(beta1, t), unbias2 = 1 - std::pow(beta2, t);
    const auto move = [&](Vector<double>& x, Vector<double>& m, Vector<double>& v, const Vector<double>& g, double by) {
      m = beta1 * m + (1 - beta1) * g;
      v = beta2 * v + (1 - beta2) * g.cwiseAbs2();
      x.array() -= by / unbias1 * m.array() / ((v.array() / unbias2).sqrt() + epsilon);
    };
    move(at_.theta, first_.theta, second_.theta, slope.theta, rate_ * spread_ * unit_);
    if (model_.has_intercept()) move(at_.b, first_.b, second_.b, slope.b, rate_ * spread_);
  }

  // The objective of the steps, and the mean loss of the rows held out.
  std::pair<double, double> evaluate(const Point& at) {
    model_.values(at, F_);
    const Vector<double> losses = rows_.losses(F_);
    double training = 0, held_out = 0;
    for (Index i = 0; i < rows_.rows(); ++i) {
      (training_[static_cast<std::size_t>(i)] ? training : held_out) += rows_.weight(i) * losses[i];
    }
    const double held_weight = rows_.total_weight() - training_weight_;
    return {training / training_weight_ + model_.penalty(at) / rows_.total_weight(),
            n_held_ > 0 ? held_out / held_weight : 0.0};
  }

  // The relative duality gap at best_, over all rows. Where many rows lie near a kink of the loss, no choice of
  // subgradients at one point makes a good bound, but the mean of those met around the minimum does.
  double gap() {
    model_.values(best_, F_);
    value_ = rows_.value(F_) + model_.penalty(best_);
    rows_.envelope(F_, F_, 0, G_);
    double lower = model_.lower_bound(G_, best_);
    for (Index i = 0; i < rows_.rows(); ++i) {
      if (training_[static_cast<std::size_t>(i)]) G_.row(i) = slopes_.row(i);
    }
    lower = std::max(lower, model_.lower_bound(G_, best_));
    const double rounding = 1e-12 * std::abs(rows_.value(Matrix<double>::Zero(rows_.rows(), rows_.outputs())));
    return std::max(0.0, value_ - lower) / std::max({std::abs(value_), rounding, 1e-300});
  }

  void finish(Index epochs, bool stopped) {
    report_.solver = "adam";
    report_.iterations = std::max<Index>(epochs, 1);
    report_.residual = gap();
    report_.objective = value_;
    if (n_held_ > 0) {
      report_.reason = format_text("the mean loss of {} rows held out was least, {:.6g}, after {} of {} epochs",
                                   n_held_, least_, best_epoch_, epochs);
      if (stopped || epochs < options_.max_iter) return;
      report_.status = SolveStatus::not_converged;
      report_.message = format_text(
          "adam stopped after {} epochs, and the loss of the rows held out may still fall; allow more iterations",
          epochs);
    } else if (report_.residual > goal()) {
      report_.status = SolveStatus::not_converged;
      report_.message = format_text(
          "adam stopped after {} epochs at a relative duality gap of {:.1e}, above sqrt(tol) = {:.1e}; "
          "take solver 'newton', more iterations or a larger tol",
          epochs, report_.residual, goal());
    }
  }

  LossRows rows_;
  LossModel model_;
  const AdamOptions adam_;
  const IterationOptions options_;
  const Random random_;
  SolveReport& report_;

  std::vector<bool> training_;  // (n)
  Index n_training_ = 0, n_held_ = 0, batch_ = 1, steps_ = 0, best_epoch_ = 0;
  double training_weight_ = 0, spread_ = 1, unit_ = 0, rate_ = 0, begin_ = 0, lowest_ = 0, least_ = 0, value_ = 0;
  Point at_, best_, first_, second_;
  Matrix<double> phi_, F_, G_, slopes_;
  std::vector<Index> numbers_;
};

}  // namespace

LinearSolution solve_convex_loss_adam(const FeatureRows& features, const CoefficientSpace& space,
                                      ConvexLossProblem problem, const AdamOptions& adam,
                                      const IterationOptions& options, const Execution& execution,
                                      SolveReport& report) {
  require(problem.alpha > 0, "fit: alpha must be positive for a loss other than the squared one, found {}",
          problem.alpha);
  return AdamSolver(features, space, std::move(problem), adam, options, execution, report).run();
}

}  // namespace carmina
