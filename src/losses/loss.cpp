// losses/loss.cpp -- the registry at work: losses by name.
#include <carmina/core/error.hpp>
#include <carmina/losses/loss.hpp>

#include <algorithm>
#include <utility>

namespace carmina {
namespace {

LossParameters parameters_of(const Huber& loss) { return {{"kappa", {loss.kappa}}}; }
LossParameters parameters_of(const EpsilonInsensitive& loss) { return {{"epsilon", {loss.epsilon}}}; }
LossParameters parameters_of(const SquaredEpsilonInsensitive& loss) { return {{"epsilon", {loss.epsilon}}}; }
LossParameters parameters_of(const Pinball& loss) { return {{"levels", loss.levels}}; }
template <class L>
LossParameters parameters_of(const L&) {
  return {};
}

template <class L>
L from_parameters(const LossParameters& parameters) {
  if constexpr (std::same_as<L, Pinball>) {
    return Pinball(parameters.at("levels"));
  } else if constexpr (requires { L(1.0); }) {
    const auto& [key, values] = *parameters.begin();
    require(values.size() == 1, "the {} loss: {} must be one number, found {}", L::name, key, values.size());
    return L(values[0]);
  } else {
    return L();
  }
}

template <std::size_t I = 0>
Loss by_name(const std::string& name, const LossParameters& given) {
  if constexpr (I < std::variant_size_v<Loss>) {
    using L = std::variant_alternative_t<I, Loss>;
    static_assert(RadialLoss<L> || EntrywiseLoss<L> || WholeRowLoss<L>);
    if (name != L::name) return by_name<I + 1>(name, given);
    LossParameters parameters = parameters_of(L());
    for (const auto& [key, values] : given) {
      require(parameters.contains(key), "the {} loss has no parameter '{}'{}{}", name, key,
              parameters.empty() ? "" : "; it has ", parameters.empty() ? "" : parameters.begin()->first);
      parameters[key] = values;
    }
    return from_parameters<L>(parameters);
  } else {
    fail("there is no loss named '{}'; known: {}", name, join_text(loss_names(), ", "));
  }
}

}  // namespace

std::vector<std::string> loss_names() {
  return []<std::size_t... J>(std::index_sequence<J...>) {
    return std::vector<std::string>{std::variant_alternative_t<J, Loss>::name...};
  }(std::make_index_sequence<std::variant_size_v<Loss>>());
}

// A parameter that two of them have is listed once.
const std::vector<LossParameterHelp>& loss_parameter_help() {
  static const std::vector<LossParameterHelp> all = {
      {"kappa", "Where the huber loss turns linear [1]"},
      {"epsilon", "What the epsilon_insensitive losses forgive [0.1]"},
      {"levels", "Levels of the pinball loss, with commas; one target: jointly [0.5]", true},
  };
  return all;
}

Loss make_loss(const std::string& name, const LossParameters& parameters) { return by_name(name, parameters); }

std::string loss_name(const Loss& loss) {
  return std::visit([](const auto& l) { return std::string(l.name); }, loss);
}

LossParameters loss_parameters(const Loss& loss) {
  return std::visit([](const auto& l) { return parameters_of(l); }, loss);
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
