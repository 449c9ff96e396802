// models/fit_task.cpp -- the sizes of a fit, from its options and the shape of the data.
#include "fit_task.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>

namespace carmina {
namespace {

// Coefficients of a Fourier feature of a term, for p outputs of d inputs.
double coefficients_of(const Term& term, Index d, Index p) {
  const auto* kind = std::get_if<Differential>(&term.coupling);
  return static_cast<double>(!kind ? p : *kind == Differential::curl_free ? 1 : d - 1);
}

}  // namespace

const std::vector<std::string>& solver_names() {
  static const std::vector<std::string> names = {"auto", "direct", "cg",     "lsmr", "idr",
                                                 "sgd",  "adam",   "newton", "lbfgs"};
  return names;
}

Solver parse_solver(const std::string& name) {
  const auto& names = solver_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
      list += (i == 0 ? "'" : i + 1 == names.size() ? " or '" : ", '") + names[i] + "'";
    }
    fail("solver must be {}, found '{}'", list, name);
  }
  return static_cast<Solver>(found - names.begin());
}

const std::string& solver_name(Solver solver) { return solver_names()[static_cast<std::size_t>(solver)]; }

FitTask::FitTask(const FitOptions& given)
    : options(given),
      sketch(given.chosen_sketch()),
      solver(parse_solver(given.solver)),
      squared(std::holds_alternative<Squared>(given.loss)),
      smooth(carmina::smooth(given.loss)) {
  approximation = sketch                           ? Approximation::sketch
                  : given.approximation == "exact" ? Approximation::exact
                                                   : Approximation::fourier;
  separable = given.kernel ? given.kernel->separable() != nullptr : !given.differential();
  // A sketch whose outputs are not separable has no normal equations: its squared loss is minimised as any other.
  if (sketch && squared && !separable && solver == Solver::direct) solver = Solver::automatic;
}

FitTask::FitTask(const FitOptions& given, Index dim_in, Index dim_out, double rows, std::size_t bytes)
    : FitTask(given) {
  n = rows;
  d = static_cast<double>(dim_in);
  p = static_cast<double>(dim_out);
  scalar_bytes = static_cast<double>(bytes);
  const auto components = static_cast<double>(sketch ? n_components(*sketch) : given.n_components);
  const bool coupled = given.kernel ? !std::holds_alternative<Uncoupled>(given.kernel->terms()[0].coupling)
                                    : given.coupling != OutputCoupling::none;
  by_eigen = given.alpha == 0 || (coupled && dim_out > 8);
  m = order = components;
  if (given.kernel) {
    m = components * (sketch ? 1.0 : static_cast<double>(given.kernel->terms().size()));
    order = 0;
    for (const Term& term : given.kernel->terms()) order += components * coefficients_of(term, dim_in, dim_out);
  } else if (given.coupling != OutputCoupling::curl_free) {
    order = components * p;
  }
  if (separable) order = m;
}

RowGrid FitTask::grid() const { return RowGrid::of(static_cast<Index>(std::min(n, 1e15)), static_cast<Index>(d + p)); }

}  // namespace carmina
