// models/mixture/mixture_learner.cpp -- learning a spectral mixture: starts, steps, and what is kept.
#include "models/mixture/mixture_learner.hpp"
#include "models/mixture/empirical_spectrum.hpp"
#include "models/mixture/mixture_objective.hpp"
#include "models/mixture/mixture_start.hpp"
#include "models/mixture/series_start.hpp"
#include "models/mixture/spectral_coordinates.hpp"
#include "solvers/evidence/ascent.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

namespace carmina {
namespace {

constexpr Index plateau_window = 20, plateau_patience = 5;

template <Real T>
class MixtureLearner {
 public:
  MixtureLearner(const MergedRows<T>& rows, const std::vector<std::vector<Index>>& groups,
                 const SpectralMixtureOptions& options, Index longest_grid, Checkpoint* checkpoint)
      : rows_(rows),
        groups_(groups),
        options_(options),
        longest_grid_(longest_grid),
        checkpoint_(checkpoint),
        targets_(rows.Y, rows.weights, options.fit_intercept,
                 options.inference != Inference::fourier || is_differential(options.coupling)) {
    const T* weights = rows.weights.size() > 0 ? rows.weights.data() : nullptr;
    if (options.inference == Inference::fourier) {
      objective_ = make_fourier_objective<T>(rows.X, targets_.Y, weights, options);
    } else {
      if constexpr (!std::same_as<T, double>) wide_ = rows.X.template cast<double>();
      objective_ = make_process_objective(inputs(), targets_.Y, rows.weights.template cast<double>(), options);
    }
  }

  LearntMixture run() {
    LearntMixture best;
    std::vector<double> evidences;
    for (Index start = 0; start < options_.n_starts; ++start) {
      LearntMixture found = learn(start);
      evidences.push_back(found.evidence);
      if (start == 0 || found.evidence > best.evidence) best = std::move(found);
    }
    best.start_evidences = evidences;
    return best;
  }

  const Vector<double>& mean() const { return targets_.mean; }

 private:
  // `linear`: with a line beside the mixture, whose start is then the spectrum of what the line leaves.
  SpectralParameters start_parameters(Index start, bool linear) const {
    const auto stream = [&](Stream purpose) {
      return Random(options_.seed, purpose).child(static_cast<std::uint32_t>(start));
    };
    const Index p = targets_.Y.cols();
    SpectralParameters at;
    if (options_.start) {
      at.mixture = *options_.start;
      at.mixture.weights /= targets_.scale.squaredNorm() / static_cast<double>(p);
    } else {
      const Matrix<double> X = rows_.X.template cast<double>();
      at.mixture = empirical_start(
          X, linear ? without_lines(X.col(0), targets_.Y, rows_.weights.template cast<double>()) : targets_.Y,
          options_.n_mixtures, start, stream(Stream::mixture_starts), longest_grid_);
    }
    at.mixture.family = options_.family;
    start_at_periods(at.mixture, options_.periods, range());
    if (linear) at.trend = trend_component(range(), true);
    at.noise = Vector<double>::Constant(options_.inference == Inference::fourier ? p : 1, 0.1);
    at.coupling = options_.coupling;
    const auto* factors = std::get_if<LearntFactors>(&options_.coupling);
    if (is_differential(options_.coupling)) {
      // k_q'' is of the size of its squared frequency: weights such that the outputs have variance 1 again.
      for (Index q = 0; q < at.mixture.size(); ++q) {
        const double square = (at.mixture.means.row(q).squaredNorm() + at.mixture.scales.row(q).squaredNorm()) * 4 *
                              std::numbers::pi * std::numbers::pi;
        at.mixture.weights[q] *= static_cast<double>(p) / square;
      }
    } else if (p == 1 || !factors || options_.inference != Inference::fourier) {
      const Index rank = options_.inference == Inference::fourier ? p : 1;
      const Matrix<double> identity = Matrix<double>::Identity(rank, rank);
      at.real = Eigen::Map<const Vector<double>>(identity.data(), identity.size())
                    .transpose()
                    .replicate(at.mixture.size(), 1);
    } else {
      const Index rank = factors->rank > 0 ? factors->rank : std::min<Index>(p, 2);
      at.real = start_factors(targets_.Y, at.mixture.size(), rank, stream(Stream::mixture_factors));
      if (factors->phases) {
        const Random phases = stream(Stream::mixture_phases);
        at.imaginary = Matrix<double>::NullaryExpr(at.real.rows(), at.real.cols(), [&](Index q, Index k) {
          return 0.05 * phases.normal(static_cast<std::uint64_t>(q), static_cast<std::uint32_t>(k));
        });
      }
    }
    if (options_.inference == Inference::inducing) {
      const auto X = inputs();
      const Index n = X.rows(), m = std::min(n, options_.n_inducing > 0 ? options_.n_inducing : options_.features());
      at.inducing.resize(m, X.cols());
      for (Index k = 0; k < m; ++k) at.inducing.row(k) = X.row(static_cast<Index>((2 * k + 1) * n / (2 * m)));
    }
    return at;
  }

  LearntMixture learn(Index start) {
    LearntMixture found;
    {
      PhaseTimer timer(found.report, "learning");
      climb(start, found);
    }
    PhaseTimer timer(found.report, "posterior");
    MemoryRows<T> rows(rows_.X, rows_.Y, rows_.weights.size() > 0 ? rows_.weights.data() : nullptr);
    set_posterior(CountedRows<T>{rows, rows_.X.rows()}, groups_, targets_.mean, options_, found);
    return found;
  }

  double range() const {
    const double range = static_cast<double>(rows_.X.maxCoeff() - rows_.X.minCoeff());
    return range > 0 ? range : 1;
  }

  // With a line where the evidence at the start, where nothing is learnt yet, is larger with it than with a constant.
  SpectralParameters chosen_start(Index start, const Random& draws) {
    const auto value_of = [&](SpectralParameters with, bool linear) {
      with.trend = trend_component(range(), linear);
      objective_->begin(with.mixture, draws);
      objective_->freeze(with);
      return objective_->value(with, nullptr);
    };
    SpectralParameters alone = start_parameters(start, false), line = start_parameters(start, true);
    return value_of(line, true) > value_of(alone, false) ? line : alone;
  }

  SavedLoop saved(Index start) const { return {checkpoint_, format_text("start {}", start)}; }

  void climb(Index start, LearntMixture& found) {
    const Random draws = Random(options_.seed, Stream::mixture_draws).child(static_cast<std::uint32_t>(start));
    const SpectralParameters first = options_.trend == Trend::automatic
                                         ? chosen_start(start, draws)
                                         : start_parameters(start, options_.trend == Trend::linear);
    const bool learn_factors = std::holds_alternative<LearntFactors>(first.coupling) && targets_.Y.cols() > 1 &&
                               options_.inference == Inference::fourier;
    const MixtureSolver asked = parse_mixture_solver(options_.solver);
    const bool automatic = asked == MixtureSolver::automatic;
    const MixtureSolver method = automatic ? MixtureSolver::lbfgs : asked;
    const bool natural = method == MixtureSolver::natural_gradient;
    const auto kind = natural ? Parameterization::natural : options_.parameterization;
    const SpectralCoordinates coordinates(first, kind, learn_factors);
    objective_->begin(first.mixture, draws);
    Vector<double> at = coordinates.encode(first);
    SolveReport& report = found.report;
    report.solver = mixture_solver_name(method);
    report.status = SolveStatus::not_converged;
    const auto on_step = [&](Index step, double value) {
      options_.execution.checkpoint(
          {"learning", start * options_.max_iter + step, options_.n_starts * options_.max_iter, "step"});
      if (options_.on_step) options_.on_step(start, step, value);
    };
    if (method == MixtureSolver::lbfgs) {
      objective_->freeze(first);
      const auto value_at = [&](const Vector<double>& point, Vector<double>* gradient) {
        const SpectralParameters parameters = coordinates.decode(point);
        // A line search may look beyond what numbers can hold.
        if (!coordinates.in_range(parameters)) return -std::numeric_limits<double>::infinity();
        SpectralParameters by;
        const double value = objective_->value(parameters, gradient ? &by : nullptr);
        if (gradient && std::isfinite(value)) *gradient = coordinates.pull_back(parameters, by);
        return value;
      };
      const AscentResult result =
          lbfgs_ascent(value_at, at, {options_.max_iter, options_.tol, true, saved(start)}, on_step);
      at = result.at;
      found.curve = result.values;
      report.iterations = result.iterations;
      if (result.converged) report.status = SolveStatus::converged;
    } else {
      step_by_step(coordinates, natural, saved(start), at, found, on_step);
    }
    report.objective = found.curve.empty() ? std::numeric_limits<double>::quiet_NaN() : found.curve.back();
    report.reason = automatic ? format_text("{}: inference '{}'", report.solver, inference_name(options_.inference))
                              : format_text("{}: asked for", report.solver);
    if (report.status == SolveStatus::not_converged) {
      report.message = format_text("{}: still rising after {} steps; a larger max_iter may find more evidence",
                                   report.solver, report.iterations);
    }
    finish(coordinates.decode(at), found);
  }

  // Spectral points are new at each step [Jung2019, Algorithm 1], with temperature T / t.
  void step_by_step(const SpectralCoordinates& coordinates, bool natural, const SavedLoop& saved, Vector<double>& at,
                    LearntMixture& found, const AscentStep& on_step) {
    AdamAscent adam(at.size());
    Plateau plateau(plateau_window, plateau_patience, options_.tol);
    const auto steps = static_cast<double>(options_.max_iter);
    Index t = 1;
    bool converged = false;
    Resumable loop(saved, [&](LoopState& state) {
      state("at", at), state("curve", found.curve), state("t", t), state("converged", converged);
      state("iterations", found.report.iterations), adam.name(state), plateau.name(state);
    });
    for (; !loop.ended() && t <= options_.max_iter; ++t) {
      loop.step();
      const SpectralParameters parameters = coordinates.decode(at);
      SpectralParameters by;
      const double temperature = steps / static_cast<double>(t);
      objective_->redraw(parameters, t, temperature);
      const double value = objective_->value(parameters, &by);
      require(std::isfinite(value), "fit: the evidence is not finite after {} steps; a smaller learning_rate may help",
              t - 1);
      found.curve.push_back(value);
      // The rate falls to a tenth, so that the last steps settle.
      const double rate = options_.learning_rate * (1 - 0.9 * static_cast<double>(t - 1) / steps);
      const Vector<double> gradient = coordinates.pull_back(parameters, by);
      const Vector<double> before = at;
      adam.step(gradient, rate, at);
      if (natural) {
        // No coordinate moves by more than ten times the rate at once.
        const Vector<double> move = rate * coordinates.natural_move(parameters, by, objective_->copies());
        for (Index k = 0; k < at.size(); ++k) {
          if (coordinates.of_components(k)) at[k] = before[k] + std::clamp(move[k], -10 * rate, 10 * rate);
        }
      }
      coordinates.clamp(at);
      found.report.iterations = t;
      on_step(t, value);
      converged = plateau.reached(value);
      if (converged) break;
    }
    loop.end();
    if (converged) found.report.status = SolveStatus::converged;
  }

  // Back to the targets' own units; the spectral points of the draws.
  void finish(SpectralParameters at, LearntMixture& found) const {
    const Vector<double> squares = targets_.scale.cwiseAbs2();
    const Index p = targets_.Y.cols();
    found.state.points = objective_->points(at, targets_.scale);
    if (at.trend.size() > 0) at.trend.weights *= squares.mean();
    const bool process = options_.inference != Inference::fourier;
    at.noise = process ? Vector<double>(at.noise[0] * squares) : Vector<double>(at.noise.cwiseProduct(squares));
    if (process || is_differential(at.coupling) || p == 1) {
      at.mixture.weights *= squares[0];
      at.real = Matrix<double>();
    } else if (at.real.size() > 0) {
      const Index rank = at.real.cols() / p;
      for (Index k = 0; k < at.real.cols(); ++k) {
        at.real.col(k) *= targets_.scale[k / rank];
        if (at.imaginary.size() > 0) at.imaginary.col(k) *= targets_.scale[k / rank];
      }
      // w_q B_q B_q* is what counts: B_q B_q* gets mean diagonal 1.
      for (Index q = 0; q < at.mixture.size(); ++q) {
        double square = at.real.row(q).squaredNorm();
        if (at.imaginary.size() > 0) square += at.imaginary.row(q).squaredNorm();
        square /= static_cast<double>(p);
        if (!(square > 0)) continue;
        at.mixture.weights[q] *= square;
        at.real.row(q) /= std::sqrt(square);
        if (at.imaginary.size() > 0) at.imaginary.row(q) /= std::sqrt(square);
      }
    }
    found.parameters = std::move(at);
  }

  ConstView<double> inputs() const {
    if constexpr (std::same_as<T, double>) {
      return rows_.X;
    } else {
      return wide_;
    }
  }

  const MergedRows<T>& rows_;
  const std::vector<std::vector<Index>>& groups_;
  const SpectralMixtureOptions& options_;
  Index longest_grid_;
  Checkpoint* checkpoint_;
  StandardTargets targets_;
  Matrix<double> wide_;  // the inputs in double, where a process of float rows needs them
  std::unique_ptr<MixtureObjective> objective_;
};

}  // namespace

template <Real T>
LearntMixture learn_mixture(const MergedRows<T>& rows, const std::vector<std::vector<Index>>& groups,
                            const SpectralMixtureOptions& options, Index longest_grid, Vector<double>& mean,
                            Checkpoint* checkpoint) {
  MixtureLearner<T> learner(rows, groups, options, longest_grid, checkpoint);
  mean = learner.mean();
  return learner.run();
}

template LearntMixture learn_mixture(const MergedRows<float>&, const std::vector<std::vector<Index>>&,
                                     const SpectralMixtureOptions&, Index, Vector<double>&, Checkpoint*);
template LearntMixture learn_mixture(const MergedRows<double>&, const std::vector<std::vector<Index>>&,
                                     const SpectralMixtureOptions&, Index, Vector<double>&, Checkpoint*);

}  // namespace carmina
