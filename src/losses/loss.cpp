// losses/loss.cpp -- the registry at work: losses by name.
#include "core/registry.hpp"

#include <carmina/core/error.hpp>
#include <carmina/losses/loss.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace carmina {
namespace {

template <class L>
LossParameters parameters_of_loss(const L& loss) {
  return with_parameters<L>([&](const auto&... one) { return LossParameters{{one.name, {loss.*one.member}}...}; });
}

template <class L>
L with_given(const LossParameters& given) {
  LossParameters parameters = parameters_of_loss(L());
  for (const auto& [key, values] : given) {
    require(parameters.contains(key), "the {} loss has no parameter '{}'{}{}", L::name, key,
            parameters.empty() ? "" : "; it has ", parameters.empty() ? "" : parameters.begin()->first);
    parameters[key] = values;
  }
  const auto value = [&]<class Number>(const Parameter<Number L::*>& one) -> Number {
    const std::vector<double>& values = parameters.at(one.name);
    if constexpr (std::same_as<Number, double>) {
      require(values.size() == 1, "the {} loss: {} must be one number, found {}", L::name, one.name, values.size());
      return values[0];
    } else {
      return values;
    }
  };
  return with_parameters<L>([&](const auto&... one) { return L(value(one)...); });
}

}  // namespace

std::vector<std::string> loss_names() { return alternative_names<Loss>(); }

const std::vector<ParameterHelp>& loss_parameter_help() {
  static const std::vector<ParameterHelp> all = parameter_help<Loss>();
  return all;
}

Loss make_loss(const std::string& name, const LossParameters& parameters) {
  std::optional<Loss> made;
  for_alternatives<Loss>([&]<class L>(std::type_identity<L>) {
    static_assert(RadialLoss<L> || EntrywiseLoss<L> || WholeRowLoss<L>);
    if (name == L::name) made = with_given<L>(parameters);
  });
  if (!made) fail("there is no loss named '{}'; known: {}", name, join_text(loss_names(), ", "));
  return *std::move(made);
}

std::string loss_name(const Loss& loss) {
  return std::visit([](const auto& l) { return std::string(l.name); }, loss);
}

LossParameters loss_parameters(const Loss& loss) {
  return std::visit([](const auto& l) { return parameters_of_loss(l); }, loss);
}

bool smooth(const Loss& loss) {
  return std::visit([](const auto& l) { return l.smooth; }, loss);
}

void check_outputs(const Loss& loss, Index p) {
  std::visit([&](const auto& l) { l.check(p); }, loss);
}

const char* expected_target(const Loss& loss, double y) {
  return std::visit([&](const auto& l) { return l.expected_target(y); }, loss);
}

const char* expected_row(const Loss& loss, const double* y, Index p) {
  return std::visit(
      [&]<class L>(const L& l) -> const char* {
        if constexpr (WholeRowLoss<L>) {
          return l.expected_row(y, p);
        } else {
          return nullptr;
        }
      },
      loss);
}

std::string row_text(const double* y, Index p) {
  constexpr Index most = 8;
  std::string text;
  for (Index j = 0; j < std::min(p, most); ++j) text += format_text("{}{}", j > 0 ? " " : "", y[j]);
  return p > most ? text + " ..." : text;
}

bool has_probabilities(const Loss& loss) { return std::holds_alternative<Logistic>(loss); }

}  // namespace carmina
