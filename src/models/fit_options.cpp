// models/fit_options.cpp -- what a fit's options may be.
#include <carmina/core/error.hpp>
#include <carmina/features/fourier_map.hpp>
#include <carmina/models/fit_options.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {

std::vector<std::string> solver_names() {
  return {"auto", "direct", "cg", "lsmr", "idr", "sgd", "adam", "newton", "lbfgs"};
}

std::vector<std::string> approximation_names() {
  std::vector<std::string> names = sketches::sketch_names();
  names.insert(names.begin(), {"fourier", "exact"});
  return names;
}

// Products of all features, the targets and the constant.
double FitOptions::moment_bytes(Index p) const {
  const Index terms = kernel ? static_cast<Index>(kernel->terms().size()) : 1;
  const auto order = static_cast<double>(terms * n_components + p + 1);
  return sizeof(double) * order * order;
}

std::optional<sketches::Distribution> FitOptions::chosen_sketch() const {
  if (sketch) return sketch;
  if (approximation == "fourier" || approximation == "exact") return std::nullopt;
  const std::vector<std::string> names = approximation_names();
  if (std::find(names.begin(), names.end(), approximation) == names.end()) {
    fail("approximation must be one of '{}', found '{}'", fmt::join(names, "', '"), approximation);
  }
  return sketches::make_sketch(approximation, n_components);
}

void FitOptions::check() const {
  const bool sketched = chosen_sketch().has_value(), squared = std::holds_alternative<Squared>(loss);
  const auto among = [this](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), solver) != names.end();
  };
  const std::vector<std::string> solvers = solver_names();
  require(std::find(solvers.begin(), solvers.end(), solver) != solvers.end(),
          "solver must be 'auto', 'direct', 'cg', 'lsmr', 'idr', 'sgd', 'adam', 'newton' or 'lbfgs', found '{}'",
          solver);
  if (!squared) {
    require(among({"auto", "newton", "lbfgs", "adam"}),
            "solver '{}' is for the squared loss; loss '{}' takes 'auto', 'newton', 'lbfgs' or 'adam'", solver,
            loss_name(loss));
    require(solver != "lbfgs" || smooth(loss),
            "solver 'lbfgs' is for smooth losses; loss '{}' takes 'newton' or 'adam'", loss_name(loss));
    require(alpha > 0, "alpha must be positive for loss '{}', found {}", loss_name(loss), alpha);
  } else if (sketched) {
    require(among({"auto", "direct"}), "solver '{}' is not for a sketch with the squared loss, which takes 'direct'",
            solver);
  } else if (approximation == "exact") {
    require(among({"auto", "direct", "cg"}),
            "solver '{}' is for approximation 'fourier'; an exact machine takes 'auto', 'direct' or 'cg'", solver);
  } else {
    require(!among({"newton", "lbfgs"}), "solver '{}' is for losses other than the squared one", solver);
  }
  if (non_crossing) {
    const auto* pinball = std::get_if<Pinball>(&loss);
    require(pinball && std::is_sorted(pinball->levels.begin(), pinball->levels.end()),
            "non_crossing is for the pinball loss with levels in ascending order");
  }
  require(alpha >= 0 && std::isfinite(alpha), "alpha must be finite and not negative, found {}", alpha);
  require(!by_evidence || (squared && !sketched && approximation == "fourier"),
          "alpha 'evidence' is for Fourier features and the squared loss; found approximation '{}' and loss '{}'",
          sketched ? sketch_name(*chosen_sketch()) : approximation, loss_name(loss));
  if (alpha_by) {
    const char* rule = *alpha_by == AlphaScore::gcv ? "gcv" : "leave_one_out";
    require(squared, "alpha '{}' is for the squared loss, found loss '{}'", rule, loss_name(loss));
    require(among({"auto", "direct"}), "alpha '{}' is for solver 'auto' or 'direct', found '{}'", rule, solver);
    require(!by_evidence, "alpha is chosen in one way, found 'evidence' and '{}'", rule);
  }
  require(evidence_rows >= 1, "evidence_rows must be at least 1, found {}", evidence_rows);
  if (!sketched && approximation == "fourier") frequency_count(n_components);
  require(max_iter >= 1, "max_iter must be at least 1, found {}", max_iter);
  require(validation_fraction >= 0 && validation_fraction < 1,
          "validation_fraction must be at least 0 and below 1, found {}", validation_fraction);
  require(patience >= 1, "patience must be at least 1, found {}", patience);
  require(tol > 0 && std::isfinite(tol), "tol must be positive, found {}", tol);
}

}  // namespace carmina
