// losses/loss.hpp -- any loss, and its name and numbers for files and the command line.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/losses/families.hpp>
#include <cmath>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace carmina {

// The registry of losses; families.hpp says what each supplies.
using Loss =
    std::variant<Squared, Huber, EpsilonInsensitive, SquaredEpsilonInsensitive, Pinball, Absolute, Hinge, Logistic>;

// What a loss has, by name: Huber's kappa, epsilon, Pinball's levels.
using LossParameters = std::map<std::string, std::vector<double>>;

// The names that make_loss takes.
std::vector<std::string> loss_names();
const std::vector<ParameterHelp>& loss_parameter_help();

// By name; parameters that are not given take their defaults. Error, with what there is, for an unknown loss or
// parameter.
Loss make_loss(const std::string& name, const LossParameters& parameters = {});
std::string loss_name(const Loss& loss);
LossParameters loss_parameters(const Loss& loss);

// Whether the gradient is Lipschitz.
bool smooth(const Loss& loss);
// Error if the loss is not for p outputs.
void check_outputs(const Loss& loss, Index p);
// What a target must be, if y is not; null if the loss takes it.
const char* expected_target(const Loss& loss, double y);
// The same of a row of p targets, where one alone does not say whether the loss takes it.
const char* expected_row(const Loss& loss, const double* y, Index p);
// The numbers of a row for a message, the first few of many.
std::string row_text(const double* y, Index p);
// Whether predictions are the logarithms of probabilities but for a constant.
bool has_probabilities(const Loss& loss);
// Error unless the loss takes y as a target; place() says where y is, for instance "fit: row 3".
template <class Place>
void check_target(const Loss& loss, double y, const Place& place) {
  if (const char* expected = expected_target(loss, y)) [[unlikely]] {
    fail("{}: with loss '{}' a target must be {}, found {}", place(), loss_name(loss), expected, y);
  }
}
// The same for the p targets of a row. Those that are NaN are missing; a loss of a whole row needs all or none.
template <class Place>
void check_targets(const Loss& loss, const double* y, Index p, const Place& place) {
  Index missing = 0;
  for (Index j = 0; j < p; ++j) {
    if (std::isnan(y[j])) {
      ++missing;
    } else {
      check_target(loss, y[j], place);
    }
  }
  if (missing == p) return;
  if (missing > 0) {
    const bool whole_row = std::visit([]<class L>(const L&) { return WholeRowLoss<L>; }, loss);
    require(!whole_row, "{}: with loss '{}' a row must have all of its {} targets or none, found {} of them missing",
            place(), loss_name(loss), p, missing);
    return;
  }
  if (const char* expected = expected_row(loss, y, p)) [[unlikely]] {
    fail("{}: with loss '{}' {} must be {}, found {}", place(), loss_name(loss),
         p == 1 ? "a target" : "the targets of a row", expected, row_text(y, p));
  }
}

}  // namespace carmina
