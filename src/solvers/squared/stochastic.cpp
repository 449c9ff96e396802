// solvers/squared/stochastic.cpp -- mini-batch SGD and Adam: an epoch of small steps, then a look at the full residual.
//
// At the start of an epoch r = g - (H + alpha I) theta is known in full: it decides whether to stop, and it takes the
// noise out of the steps (SVRG [Johnson2013]). For a square loss the corrected gradient at theta + u needs no targets:
// a batch of |B| of the n rows gives (n / |B|) P_Bᵀ W P_B u + alpha u - r, which has mean (H + alpha I) u - r and no
// variance at u = 0.
#include "solvers/losses/batch_order.hpp"
#include "solvers/squared/batch_operator.hpp"

#include <carmina/random/philox.hpp>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>
#include <optional>

namespace carmina {
namespace {

constexpr Index largest_batch = 256;
constexpr Index directions = 128;   // of the preconditioner
constexpr Index batches_tried = 8;  // for the step length
constexpr int power_iterations = 15;
constexpr double overshoot = 1.5;  // of the residual over an epoch

Eigen::MatrixXd normal_matrix(Index rows, Index columns, const Random& random) {
  return Eigen::MatrixXd::NullaryExpr(rows, columns, [&](Index i, Index j) {
    return random.normal(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(j));
  });
}

// M^(-1/2) of M = Q (Lambda + alpha I) Qᵀ + mu (I - Q Qᵀ), close to H + alpha I: the leading eigenvectors Q of H over a
// sample, by subspace iteration, and mu its smallest eigenvalue found plus alpha. [Ma2017] shows what this does for
// SGD.
class Whitening {
 public:
  Whitening(BatchOperator& sample, Index size, double alpha, const Random& random) {
    const Index k = std::max<Index>(1, std::min({directions, size / 2, sample.rows() / 4, (Index{1} << 24) / size}));
    Q_ = normal_matrix(size, k, random);
    Eigen::MatrixXd image;
    for (int round = 0; round < 3; ++round) {
      sample.multiply(Q_, image);
      Q_ = image.householderQr().householderQ() * Eigen::MatrixXd::Identity(size, k);
    }
    sample.multiply(Q_, image);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> ritz(Q_.transpose() * image);
    Q_ = (Q_ * ritz.eigenvectors()).eval();
    const Eigen::ArrayXd values = ritz.eigenvalues().array().max(0) + alpha;
    const double mu = std::max(values.minCoeff(), 1e-6 * values.maxCoeff());
    rest_ = mu > 0 ? 1 / std::sqrt(mu) : 1;
    change_ = values.max(mu).rsqrt() - rest_;
    if (!(mu > 0)) change_.setZero();
  }
  // M^(-1/2) v
  Vector<double> operator()(const Vector<double>& v) const {
    return rest_ * v + Q_ * (change_ * (Q_.transpose() * v).array()).matrix();
  }

 private:
  Eigen::MatrixXd Q_;
  Eigen::ArrayXd change_;
  double rest_;
};

// The largest eigenvalue of M^(-1/2) (H_B + alpha I) M^(-1/2) for the batch, by power iterations.
double largest_eigenvalue(BatchOperator& batch, const Whitening& scaled, double alpha, Vector<double> v) {
  Eigen::MatrixXd image;
  double value = 0;
  for (int k = 0; k < power_iterations; ++k) {
    v /= v.norm();
    const Vector<double> u = scaled(v);
    batch.multiply(u, image);
    v = scaled(image + alpha * u);
    value = v.norm();
    if (!(value > 0)) break;
  }
  return value;
}

enum class StepRule { sgd, adam };

// Steps from where an epoch began, in coordinates z: u = M^(-1/2) z.
class Descent {
 public:
  Descent(StepRule rule, Index size) : rule_(rule), first_(Vector<double>::Zero(size)), second_(first_) {}

  // residual: M^(-1/2) r; `length` of a gradient step that contracts on every batch.
  void begin(Vector<double> residual, double length) {
    residual_ = std::move(residual);
    length_ = length;
    typical_ = residual_.norm() / std::sqrt(static_cast<double>(residual_.size()));
    z_ = Vector<double>::Zero(residual_.size());
  }
  // The last steps were too long, so what they saw is not to be continued.
  void forget() {
    first_.setZero();
    second_.setZero();
    taken_ = 0;
  }
  const Vector<double>& z() const { return z_; }
  // Between epochs.
  void name(LoopState& state) { state("first", first_), state("second", second_), state("taken", taken_); }

  // product: M^(-1/2) (H_B + alpha I) M^(-1/2) z
  void step(const Vector<double>& product) {
    gradient_ = product - residual_;
    if (rule_ == StepRule::sgd) {
      z_ -= length_ * gradient_;
      return;
    }
    // [Kingma2015, Algorithm 1] with the step, epsilon and the squares in units of the gradient's size when the epoch
    // began: all fall with it. Small coordinates move as by SGD, large ones no farther than a few times the step.
    constexpr double beta1 = 0.9, beta2 = 0.999;
    first_ = beta1 * first_ + (1 - beta1) * gradient_;
    second_ = beta2 * second_ + (1 - beta2) * (gradient_ / typical_).cwiseAbs2();
    const auto t = static_cast<double>(++taken_);
    const double unbias1 = 1 - std::pow(beta1, t), unbias2 = 1 - std::pow(beta2, t);
    z_.array() -= 2 * length_ / unbias1 * first_.array() / ((second_.array() / unbias2).sqrt() + 1);
  }

 private:
  StepRule rule_;
  Vector<double> first_, second_, residual_, z_, gradient_;
  double length_ = 0, typical_ = 1;
  Index taken_ = 0;
};

LinearSolution solve_in_batches(const char* name, StepRule rule, const ExpandedProblem& problem,
                                const IterationOptions& options, const Execution& execution, SolveReport& report) {
  const IterationOptions goal{options.max_iter, std::sqrt(options.tol)};
  ExpandedOperator whole(problem);
  const Index n = problem.rows.rows();
  const Random random(problem.seed, Stream::batches);
  BatchOperator batch(problem, whole);
  const Index size = std::min(n, std::clamp<Index>(n / 8, 16, largest_batch)), dim = problem.expansion.dim_coef();
  std::optional<Whitening> scaled;
  double length = 0;
  problem.rows.windows([&](Index first_row, Index rows, const FeatureRows::Gather& gather) {
    if (scaled) return;
    const auto order = shuffled(rows, first_row, random, 0);
    batch.take(first_row, order.data(), std::min(batch_sample_rows(problem.rows.features()), rows), gather);
    scaled.emplace(batch, dim, problem.alpha, random.child(0));
    // A step that contracts on every batch tried, from the end of the order: rows that the sample may not have seen.
    double largest = 0;
    for (Index k = 0; k < batches_tried && (k + 1) * size <= rows; ++k) {
      batch.take(first_row, order.data() + rows - (k + 1) * size, size, gather);
      largest =
          std::max(largest, largest_eigenvalue(batch, *scaled, problem.alpha, normal_matrix(dim, 1, random.child(1))));
    }
    length = largest > 0 ? 1 / largest : 1;
  });

  const Vector<double> g = whole.right();
  const double start = g.norm();
  Vector<double> theta = Vector<double>::Zero(g.size()), best = theta, residual = g, turned = (*scaled)(g), candidate,
                 product;
  Descent descent(rule, dim);
  Eigen::MatrixXd image;
  double smallest = start > 0 ? 1 : 0, factor = 1;
  Index epoch = 0;
  Resumable loop({options.checkpoint, name}, [&](LoopState& state) {
    state("theta", theta), state("best", best), state("turned", turned), state("smallest", smallest);
    state("factor", factor), state("epoch", epoch);
    descent.name(state);
  });
  // A step that has become this small makes no difference any more: rounding is reached.
  while (!loop.ended() && smallest > goal.tol && epoch < options.max_iter && factor > 1e-3) {
    loop.step();
    execution.checkpoint({name, epoch++, options.max_iter, "iteration"});
    descent.begin(turned, factor * length);
    problem.rows.windows([&](Index first_row, Index rows, const FeatureRows::Gather& gather) {
      const auto order = shuffled(rows, first_row, random, epoch);
      for (Index i = 0; i < rows; i += size) {
        batch.take(first_row, order.data() + i, std::min(size, rows - i), gather);
        candidate = (*scaled)(descent.z());
        batch.multiply(candidate, image);
        descent.step((*scaled)(image + problem.alpha * candidate));
      }
    });
    candidate = theta + (*scaled)(descent.z());
    whole.normal(candidate, product);
    residual = g - product;
    Vector<double> reached = (*scaled)(residual);
    // Momentum may overshoot a little; a step that is too long does so by far, and the epoch is taken back.
    if (!(reached.norm() <= overshoot * turned.norm())) {
      factor /= 2;
      descent.forget();
      continue;
    }
    factor = std::min(1.0, 1.2 * factor);
    theta = candidate;
    turned = std::move(reached);
    if (const double relative = residual.norm() / start; relative < smallest) smallest = relative, best = theta;
  }
  loop.end();
  report_iterations(name, epoch, smallest, goal, report);
  return whole.solution(best);
}

}  // namespace

LinearSolution solve_expanded_sgd(const ExpandedProblem& problem, const IterationOptions& options,
                                  const Execution& execution, SolveReport& report) {
  return solve_in_batches("sgd", StepRule::sgd, problem, options, execution, report);
}

LinearSolution solve_expanded_adam(const ExpandedProblem& problem, const IterationOptions& options,
                                   const Execution& execution, SolveReport& report) {
  return solve_in_batches("adam", StepRule::adam, problem, options, execution, report);
}

}  // namespace carmina
