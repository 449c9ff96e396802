// models/fit/fit_options.cpp -- what a fit's options may be.
#include "features/fourier_map.hpp"
#include "models/fit/ways.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/fit_options.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

std::vector<std::string> approximation_names() {
  std::vector<std::string> names = sketches::sketch_names();
  names.insert(names.begin(), {"auto", "fourier", "exact"});
  return names;
}

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

FitOptions FitOptions::without_choices() const {
  FitOptions fixed = *this;
  if (scale_inputs == InputScaling::automatic) fixed.scale_inputs = width_from_data();
  if (kernel_name == "auto") fixed.kernel_name = Gaussian::name;
  if (approximation == "auto") fixed.approximation = "fourier";
  fixed.width = WidthRule::median;
  fixed.metric = MetricRule::identity;
  fixed.n_components = components();
  fixed.alpha = alpha.value_or(usual_alpha);
  return fixed;
}

std::optional<sketches::Distribution> FitOptions::chosen_sketch() const {
  if (sketch) return sketch;
  if (approximation == "auto" || approximation == "fourier" || approximation == "exact") return std::nullopt;
  const std::vector<std::string> names = approximation_names();
  if (std::find(names.begin(), names.end(), approximation) == names.end()) {
    fail("approximation must be one of '{}', found '{}'", join_text(names, "', '"), approximation);
  }
  return sketches::make_sketch(approximation, components());
}

void FitOptions::check() const {
  const FitTask task(*this);
  const bool sketched = task.sketched(), squared = task.squared;
  require(!std::holds_alternative<LearntFactors>(coupling) && !std::holds_alternative<UserSpectrum>(coupling),
          "the coupling '{}' of outputs is not for a kernel by name", coupling_name(coupling));
  const std::vector<Solver> known = solvers_for(task);
  if (std::find(known.begin(), known.end(), task.solver) == known.end()) {
    std::string taken;
    for (std::size_t i = 0; i < known.size(); ++i) {
      taken += (i == 0 ? "'" : i + 1 == known.size() ? " or '" : ", '") + solver_name(known[i]) + "'";
    }
    require(squared, "solver '{}' is {}; loss '{}' takes {}", solver,
            task.solver == Solver::lbfgs ? "for smooth losses" : "for the squared loss", loss_name(loss), taken);
    require(task.solver != Solver::newton && task.solver != Solver::lbfgs,
            "solver '{}' is for losses other than the squared one; it takes {} here", solver, taken);
    require(!sketched, "solver '{}' is not for a sketch with the squared loss, which takes {}", solver, taken);
    fail("solver '{}' is for approximation 'fourier'; an exact machine takes {}", solver, taken);
  }
  require(squared || task.alpha > 0, "alpha must be positive for loss '{}', found {}", loss_name(loss), task.alpha);
  if (non_crossing) {
    const auto* pinball = std::get_if<Pinball>(&loss);
    require(pinball && std::is_sorted(pinball->levels.begin(), pinball->levels.end()),
            "non_crossing is for the pinball loss with levels in ascending order");
  }
  require(task.alpha >= 0 && std::isfinite(task.alpha), "alpha must be finite and not negative, found {}", task.alpha);
  require(!by_evidence || squared, "alpha 'evidence' is for the squared loss, found loss '{}'", loss_name(loss));
  if (alpha_by) {
    const char* rule = *alpha_by == AlphaScore::gcv ? "gcv" : "leave_one_out";
    require(squared, "alpha '{}' is for the squared loss, found loss '{}'", rule, loss_name(loss));
    require(task.solver == Solver::automatic || task.solver == Solver::direct,
            "alpha '{}' is for solver 'auto' or 'direct', found '{}'", rule, solver);
    require(!by_evidence, "alpha is chosen in one way, found 'evidence' and '{}'", rule);
  }
  require(evidence_rows >= 1, "evidence_rows must be at least 1, found {}", evidence_rows);
  if (task.fourier()) frequency_count(components());
  require(max_iter >= 1, "max_iter must be at least 1, found {}", max_iter);
  require(validation_fraction >= 0 && validation_fraction < 1,
          "validation_fraction must be at least 0 and below 1, found {}", validation_fraction);
  require(patience >= 1, "patience must be at least 1, found {}", patience);
  require(tol > 0 && std::isfinite(tol), "tol must be positive, found {}", tol);
}

}  // namespace carmina
