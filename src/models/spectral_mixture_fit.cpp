// models/spectral_mixture_fit.cpp -- learning a spectral mixture: starts, steps, and what is kept.
#include "merged_rows.hpp"
#include "mixture_objective.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/empirical_spectrum.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <carmina/solvers/ascent.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

namespace carmina {
namespace {

constexpr std::uint32_t draw_stream = 40, start_stream = 41;
constexpr Index most_merged = 100000;  // rows that are put in order without need
constexpr Index plateau_window = 20, plateau_patience = 5;

// Targets with mean 0 and variance 1 in each output, so that steps and starts suit any units; `common`: of all outputs
// together, where a factor for each would change what the kernel means.
struct StandardTargets {
  Vector<double> mean, scale;
  Matrix<double> Y;

  StandardTargets(ConstView<double> targets, const double* weights, bool centre, bool common)
      : mean(Vector<double>::Zero(targets.cols())), scale(Vector<double>::Ones(targets.cols())), Y(targets) {
    for (Index a = 0; a < Y.cols(); ++a) {
      double sum = 0, total = 0, squares = 0;
      const auto over_rows = [&](const auto& f) {
        for (Index i = 0; i < Y.rows(); ++i) {
          if (!std::isnan(Y(i, a))) f(Y(i, a), weights ? weights[i] : 1.0);
        }
      };
      over_rows([&](double y, double w) { sum += w * y, total += w; });
      require(total > 0, "fit: output {} has no target at all", a + 1);
      if (centre) mean[a] = sum / total;
      over_rows([&](double y, double w) { squares += w * (y - mean[a]) * (y - mean[a]); });
      if (squares > 0) scale[a] = std::sqrt(squares / total);
    }
    if (common) scale.setConstant(scale.norm() / std::sqrt(static_cast<double>(scale.size())));
    for (Index a = 0; a < Y.cols(); ++a) Y.col(a) = (Y.col(a).array() - mean[a]) / scale[a];
  }
};

// B with B Bᵀ near the correlations of the targets where two are there together; a little noise tells components apart.
Matrix<double> start_factors(const Matrix<double>& Y, Index components, Index rank, const Random& random) {
  const Index p = Y.cols();
  Matrix<double> correlation = Matrix<double>::Identity(p, p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < a; ++b) {
      double product = 0, first = 0, second = 0;
      for (Index i = 0; i < Y.rows(); ++i) {
        if (std::isnan(Y(i, a)) || std::isnan(Y(i, b))) continue;
        product += Y(i, a) * Y(i, b), first += Y(i, a) * Y(i, a), second += Y(i, b) * Y(i, b);
      }
      correlation(a, b) = correlation(b, a) = first * second > 0 ? product / std::sqrt(first * second) : 0;
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(correlation);
  const Matrix<double> root = eigen.eigenvectors().rightCols(rank).rowwise().reverse() *
                              eigen.eigenvalues().tail(rank).reverse().cwiseMax(0.05).cwiseSqrt().asDiagonal();
  Matrix<double> out(components, p * rank);
  for (Index q = 0; q < components; ++q) {
    for (Index k = 0; k < p * rank; ++k) {
      out(q, k) = root.data()[k] + 0.05 * random.normal(static_cast<std::uint64_t>(q), static_cast<std::uint32_t>(k));
    }
  }
  return out;
}

}  // namespace

class MixtureLearner {
 public:
  MixtureLearner(ConstView<double> X, ConstView<double> Y, const SpectralMixtureOptions& options, const double* weights)
      : X_(X),
        options_(options),
        targets_(Y, weights, options.fit_intercept,
                 options.inference != Inference::fourier || options.outputs == MixtureOutputs::curl_free ||
                     options.outputs == MixtureOutputs::divergence_free) {
    if (options.inference == Inference::fourier) {
      objective_ = make_fourier_objective(X, targets_.Y, weights, options);
    } else {
      require(weights == nullptr, "fit: inference '{}' takes whole numbers as weights; 'fourier' takes any",
              inference_name(options.inference));
      require(!targets_.Y.hasNaN(), "fit: a target is missing; only inference 'fourier' knows what to do without");
      objective_ = make_process_objective(X, targets_.Y, options);
    }
  }

  SpectralMixtureMachine run() {
    SpectralMixtureMachine best;
    std::vector<double> evidences;
    for (Index start = 0; start < options_.n_starts; ++start) {
      SpectralMixtureMachine machine = learn(start);
      evidences.push_back(machine.evidence_);
      if (start == 0 || machine.evidence_ > best.evidence_) best = std::move(machine);
    }
    best.start_evidences_ = evidences;
    return best;
  }

 private:
  SpectralParameters start_parameters(Index start) const {
    const Random random = Random(options_.seed, start_stream).child(static_cast<std::uint32_t>(start));
    const Index p = targets_.Y.cols();
    SpectralParameters at;
    if (options_.start) {
      at.mixture = *options_.start;
      at.mixture.weights /= targets_.scale.squaredNorm() / static_cast<double>(p);
    } else {
      at.mixture = empirical_start(X_, targets_.Y, options_.n_mixtures, start, random);
    }
    at.mixture.family = options_.family;
    at.noise = Vector<double>::Constant(options_.inference == Inference::fourier ? p : 1, 0.1);
    if (options_.outputs == MixtureOutputs::curl_free || options_.outputs == MixtureOutputs::divergence_free) {
      at.structure =
          options_.outputs == MixtureOutputs::curl_free ? OutputStructure::curl_free : OutputStructure::divergence_free;
      // k_q'' is of the size of its squared frequency: weights such that the outputs have variance 1 again.
      for (Index q = 0; q < at.mixture.size(); ++q) {
        const double square = (at.mixture.means.row(q).squaredNorm() + at.mixture.scales.row(q).squaredNorm()) * 4 *
                              std::numbers::pi * std::numbers::pi;
        at.mixture.weights[q] *= static_cast<double>(p) / square;
      }
    } else if (p == 1 || options_.outputs == MixtureOutputs::independent || options_.inference != Inference::fourier) {
      const Index rank = options_.inference == Inference::fourier ? p : 1;
      const Matrix<double> identity = Matrix<double>::Identity(rank, rank);
      at.real = Eigen::Map<const Vector<double>>(identity.data(), identity.size())
                    .transpose()
                    .replicate(at.mixture.size(), 1);
    } else {
      const Index rank = options_.rank > 0 ? options_.rank : std::min<Index>(p, 2);
      at.real = start_factors(targets_.Y, at.mixture.size(), rank, random.child(7));
      if (options_.phases) {
        at.imaginary = Matrix<double>::NullaryExpr(at.real.rows(), at.real.cols(), [&](Index q, Index k) {
          return 0.05 * random.child(8).normal(static_cast<std::uint64_t>(q), static_cast<std::uint32_t>(k));
        });
      }
    }
    if (options_.inference == Inference::inducing) {
      const Index n = X_.rows(), m = std::min(n, options_.n_inducing > 0 ? options_.n_inducing : options_.n_components);
      at.inducing.resize(m, X_.cols());
      for (Index k = 0; k < m; ++k) at.inducing.row(k) = X_.row(static_cast<Index>((2 * k + 1) * n / (2 * m)));
    }
    return at;
  }

  std::string solver() const { return options_.solver == "auto" ? "lbfgs" : options_.solver; }

  SpectralMixtureMachine learn(Index start) {
    SpectralMixtureMachine machine;
    PhaseTimer timer(machine.report_, "learning");
    const SpectralParameters first = start_parameters(start);
    const bool learn_factors = first.structure == OutputStructure::factors && first.real.size() > 0 &&
                               targets_.Y.cols() > 1 && options_.inference == Inference::fourier &&
                               options_.outputs == MixtureOutputs::coupled;
    const std::string method = solver();
    const auto kind = method == "natural_gradient" ? Parameterization::natural : options_.parameterization;
    const SpectralCoordinates coordinates(first, kind, learn_factors);
    objective_->begin(first.mixture, Random(options_.seed, draw_stream).child(static_cast<std::uint32_t>(start)));
    Vector<double> at = coordinates.encode(first);
    SolveReport& report = machine.report_;
    report.solver = method;
    report.status = SolveStatus::not_converged;
    const auto told = [&](Index step, double value) {
      options_.execution.checkpoint(
          {"learning", start * options_.max_iter + step, options_.n_starts * options_.max_iter});
      if (options_.told) options_.told(start, step, value);
    };
    if (method == "lbfgs") {
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
      const AscentResult result = lbfgs_ascent(value_at, at, {options_.max_iter, options_.tol}, told);
      at = result.at;
      machine.curve_ = result.values;
      report.iterations = result.iterations;
      if (result.converged) report.status = SolveStatus::converged;
    } else {
      step_by_step(coordinates, method == "natural_gradient", at, machine, told);
    }
    report.objective = machine.curve_.empty() ? std::numeric_limits<double>::quiet_NaN() : machine.curve_.back();
    report.reason = options_.solver == "auto"
                        ? format_text("{}: inference '{}'", method, inference_name(options_.inference))
                        : format_text("{}: asked for", method);
    if (report.status == SolveStatus::not_converged) {
      report.message = format_text("{}: still rising after {} steps; a larger max_iter may find more evidence", method,
                                   report.iterations);
    }
    finish(coordinates.decode(at), machine);
    return machine;
  }

  // Spectral points are new at each step [Jung2019, Algorithm 1], with temperature T / t.
  void step_by_step(const SpectralCoordinates& coordinates, bool natural, Vector<double>& at,
                    SpectralMixtureMachine& machine, const AscentStep& told) {
    AdamAscent adam(at.size());
    Plateau plateau(plateau_window, plateau_patience, options_.tol);
    const auto steps = static_cast<double>(options_.max_iter);
    for (Index t = 1; t <= options_.max_iter; ++t) {
      const SpectralParameters parameters = coordinates.decode(at);
      SpectralParameters by;
      const double temperature = steps / static_cast<double>(t);
      objective_->redraw(parameters, t, temperature);
      const double value = objective_->value(parameters, &by);
      require(std::isfinite(value), "fit: the evidence is not finite after {} steps; a smaller learning_rate may help",
              t - 1);
      machine.curve_.push_back(value);
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
      machine.report_.iterations = t;
      told(t, value);
      if (plateau.reached(value)) {
        machine.report_.status = SolveStatus::converged;
        break;
      }
    }
  }

  // Back to the targets' own units; the posteriors of the draws.
  void finish(SpectralParameters at, SpectralMixtureMachine& machine) const {
    const Vector<double> squares = targets_.scale.cwiseAbs2();
    const Index p = targets_.Y.cols();
    machine.intercept_ = targets_.mean;
    machine.inference_ = options_.inference;
    objective_->finish(at, targets_.scale, machine.points_, machine.posteriors_, machine.process_, machine.evidence_);
    const bool process = options_.inference != Inference::fourier;
    at.noise = process ? Vector<double>(at.noise[0] * squares) : Vector<double>(at.noise.cwiseProduct(squares));
    if (process || at.structure != OutputStructure::factors || p == 1) {
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
    machine.parameters_ = std::move(at);
  }

  ConstView<double> X_;
  const SpectralMixtureOptions& options_;
  StandardTargets targets_;
  std::unique_ptr<MixtureObjective> objective_;
};

SpectralMixtureMachine SpectralMixtureMachine::fit(ConstView<double> X, ConstView<double> Y,
                                                   const SpectralMixtureOptions& options, const double* weights) {
  options.check();
  require(X.rows() == Y.rows(), "fit: Y has {} rows, X has {}", Y.rows(), X.rows());
  require(X.rows() > 0 && X.cols() > 0 && Y.cols() > 0, "fit: the data is empty");
  require(X.allFinite(), "fit: X holds NaN or infinity");
  const bool field = options.outputs == MixtureOutputs::curl_free || options.outputs == MixtureOutputs::divergence_free;
  require(!field || X.cols() == Y.cols(), "fit: outputs '{}' needs as many targets as inputs, found {} and {}",
          mixture_outputs_name(options.outputs), Y.cols(), X.cols());
  require(!field || options.inference == Inference::fourier, "fit: outputs '{}' needs inference 'fourier'",
          mixture_outputs_name(options.outputs));
  require(options.rank <= Y.cols(), "fit: rank {} is larger than the number of outputs, {}", options.rank, Y.cols());
  if (options.start) {
    options.start->check();
    require(options.start->dim_in() == X.cols(), "fit: the start is for {} inputs, X has {}", options.start->dim_in(),
            X.cols());
  }
  if (!weights && X.rows() > most_merged) return MixtureLearner(X, Y, options, nullptr).run();
  MergedRows rows(X, Y, weights);
  require(rows.X.rows() > 0, "fit: no row has a positive weight");
  if (options.inference != Inference::fourier) rows.repeat();
  return MixtureLearner(rows.X, rows.Y, options, rows.weights.size() > 0 ? rows.weights.data() : nullptr).run();
}

}  // namespace carmina
