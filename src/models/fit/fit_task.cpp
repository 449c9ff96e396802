// models/fit/fit_task.cpp -- the sizes of a fit, from its options and the shape of the data.
#include "models/fit/fit_task.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>

namespace carmina {

std::vector<std::string> solver_names() { return {solver_words.begin(), solver_words.end()}; }

Solver parse_solver(const std::string& name) {
  const std::vector<std::string> names = solver_names();
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

std::string solver_name(Solver solver) { return solver_words[static_cast<std::size_t>(solver)]; }

FitTask::FitTask(const FitOptions& given)
    : options(given),
      sketch(given.chosen_sketch()),
      solver(parse_solver(given.solver)),
      alpha(given.alpha.value_or(usual_alpha)),
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
  const auto components = static_cast<double>(sketch ? n_components(*sketch) : given.components());
  const OutputCoupling& coupling = given.kernel ? given.kernel->terms()[0].coupling : given.coupling;
  by_eigen = alpha == 0 || (!std::holds_alternative<Independent>(coupling) && dim_out > 8);
  m = components;
  order = components * static_cast<double>(factor_columns(given.coupling, dim_out));
  if (given.kernel) {
    m = components * (sketch ? 1.0 : static_cast<double>(given.kernel->terms().size()));
    order = 0;
    for (const Term& term : given.kernel->terms()) {
      order += components * static_cast<double>(factor_columns(term.coupling, dim_out));
    }
  }
  if (separable) order = m;
}

RowGrid FitTask::grid() const { return RowGrid::of(static_cast<Index>(std::min(n, 1e15)), static_cast<Index>(d + p)); }

}  // namespace carmina
