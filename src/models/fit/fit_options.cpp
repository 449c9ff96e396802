// models/fit/fit_options.cpp -- what a fit's options may be.
#include "backends/cuda/backend.hpp"
#include "core/words.hpp"
#include "features/fourier_map.hpp"
#include "models/fit/ways.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/fit_options.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

const std::vector<std::string>& input_scaling_names() {
  static const std::vector<std::string> names = {"none", "standard", "robust", "auto"};
  return names;
}

InputScaling parse_input_scaling(const std::string& name) {
  const auto& names = input_scaling_names();
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "scale_inputs must be one of '{}', found '{}'", join_text(names, "', '"), name);
  return static_cast<InputScaling::Rule>(found - names.begin());
}

std::string input_scaling_name(const InputScaling& scaling) {
  return input_scaling_names()[static_cast<std::size_t>(scaling.rule())];
}

namespace {
constexpr Words<AlphaScore, 2> alpha_scores{"alpha's score", {"gcv", "leave_one_out"}};
constexpr Words<MetricRule, 3> metrics{"metric", {"auto", "identity", "learn"}};
}  // namespace

std::vector<std::string> alpha_score_names() { return alpha_scores.names(); }
AlphaScore parse_alpha_score(const std::string& name) { return alpha_scores.parse(name); }
std::string alpha_score_name(AlphaScore score) { return alpha_scores.name(score); }

std::vector<std::string> metric_names() { return metrics.names(); }
MetricRule parse_metric(const std::string& name) { return metrics.parse(name); }
std::string metric_name(MetricRule rule) { return metrics.name(rule); }

const std::vector<NumberOption>& number_options() {
  static const std::vector<NumberOption> all = {
      {"max_iter", &FitOptions::max_iter,
       "Most iterations, of spectral_mixture 500; of sgd and adam: passes over the rows"},
      {"tol", &FitOptions::tol,
       "Relative residual at which iterations stop; sgd and adam: at its root; spectral_mixture: relative progress, "
       "1e-05"},
      {"validation_fraction", &FitOptions::validation_fraction,
       "Of adam with other losses than squared: part of the rows held out to tell when to stop; 0: none"},
      {"patience", &FitOptions::patience, "Passes over the rows without a smaller loss of those held out"},
  };
  return all;
}

// Products of all features, the targets and the constant.
double FitOptions::moment_bytes(Index p) const {
  const Index terms = kernel ? static_cast<Index>(kernel->terms().size()) : 1;
  const auto order = static_cast<double>(terms * components() + p + 1);
  return sizeof(double) * order * order;
}

std::string FitOptions::settled_kernel_name() const { return kernel_name == "auto" ? Gaussian::name : kernel_name; }

namespace {

bool offers(const std::vector<Solver>& solvers, Solver one) {
  return std::find(solvers.begin(), solvers.end(), one) != solvers.end();
}

// Error, with what would take the solver, unless some way does.
void check_solver(const FitTask& task) {
  const std::vector<Solver> known = solvers_for(task);
  if (offers(known, task.solver)) return;
  std::vector<std::string_view> words;
  for (const Solver one : known) words.push_back(one.word);
  const std::string taken = either(words);
  const std::string_view solver = task.solver.word;
  FitTask other = task;
  if (!task.squared) {
    other.smooth = true;
    fail("solver '{}' is {}; loss '{}' takes {}", solver,
         offers(solvers_for(other), task.solver) ? "for smooth losses" : "for the squared loss",
         loss_name(task.options.loss), taken);
  }
  other.approximation = Approximation::fourier;
  require(offers(solvers_for(other), task.solver),
          "solver '{}' is for losses other than the squared one; it takes {} here", solver, taken);
  require(!task.sketched(), "solver '{}' is not for a sketch with the squared loss, which takes {}", solver, taken);
  fail("solver '{}' is for approximation 'fourier'; an exact machine takes {}", solver, taken);
}

}  // namespace

void FitOptions::check() const {
  const FitTask task(*this);
  const bool squared = task.squared;
  require(!std::holds_alternative<LearntFactors>(coupling) && !std::holds_alternative<UserSpectrum>(coupling),
          "the coupling '{}' of outputs is not for a kernel by name", coupling_name(coupling));
  check_solver(task);
  require(squared || task.alpha > 0, "alpha must be positive for loss '{}', found {}", loss_name(loss), task.alpha);
  if (non_crossing) {
    const auto* pinball = std::get_if<Pinball>(&loss);
    require(pinball && std::is_sorted(pinball->levels.begin(), pinball->levels.end()),
            "non_crossing is for the pinball loss with levels in ascending order");
  }
  require(task.alpha >= 0 && std::isfinite(task.alpha), "alpha must be finite and not negative, found {}", task.alpha);
  require(!by_evidence || squared, "alpha 'evidence' is for the squared loss, found loss '{}'", loss_name(loss));
  if (alpha_by) {
    const std::string rule = alpha_score_name(*alpha_by);
    require(squared, "alpha '{}' is for the squared loss, found loss '{}'", rule, loss_name(loss));
    require(task.may_factor(), "alpha '{}' is for solver 'auto' or 'direct', found '{}'", rule, solver);
    require(!by_evidence, "alpha is chosen in one way, found 'evidence' and '{}'", rule);
  }
  require(groups.empty() || !contiguous, "groups are left out in the place of contiguous stretches, not both");
  if (leaves_groups_out() && (alpha_by || by_evidence)) {
    fail("groups and contiguous stretches are left out where alpha is 'auto' or a number, found '{}'",
         alpha_by ? alpha_score_name(*alpha_by) : "evidence");
  }
  require(evidence_rows >= 1, "evidence_rows must be at least 1, found {}", evidence_rows);
  if (task.fourier()) frequency_count(components());
  require(max_iter >= 1, "max_iter must be at least 1, found {}", max_iter);
  require(validation_fraction >= 0 && validation_fraction < 1,
          "validation_fraction must be at least 0 and below 1, found {}", validation_fraction);
  require(patience >= 1, "patience must be at least 1, found {}", patience);
  require(tol > 0 && std::isfinite(tol), "tol must be positive, found {}", tol);
  backend::check_device(execution);
}

}  // namespace carmina
