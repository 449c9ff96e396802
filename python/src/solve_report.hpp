// solve_report.hpp -- what a solver did, as a dictionary with the names of SolveReport.
#pragma once
#include <carmina/models/report.hpp>
#include <cmath>

#include <nanobind/stl/string.h>

#include "bindings.hpp"

namespace carmina::python {

inline nb::dict to_dict(const SolveReport& report) {
  nb::dict seconds, result;
  for (const auto& [phase, spent] : report.seconds) seconds[phase.c_str()] = spent;
  result["solver"] = report.solver;
  result["reason"] = report.reason;
  result["memory"] = report.memory;
  result["device"] = report.device;
  result["converged"] = report.status == SolveStatus::converged;
  result["iterations"] = report.iterations;
  result["residual"] = report.residual;
  result["objective"] = std::isnan(report.objective) ? nb::none() : nb::object(nb::float_(report.objective));
  result["message"] = report.message;
  result["seconds"] = seconds;
  nb::list choices;
  for (const Choice& choice : report.choices) {
    nb::dict row;
    row["kernel"] = choice.kernel;
    row["length_scale"] = choice.length_scale;
    row["metric"] = choice.metric;
    row["alpha"] = choice.alpha;
    row["approximation"] = choice.approximation;
    row["rows"] = choice.rows;
    row["error"] = choice.error;
    row["chosen"] = choice.chosen;
    choices.append(row);
  }
  result["choices"] = choices;
  result["text"] = report.text;
  return result;
}

}  // namespace carmina::python
