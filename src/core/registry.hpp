// core/registry.hpp -- what registries by name do with the alternatives of their variants.
#pragma once
#include <carmina/core/parameter.hpp>

#include <algorithm>
#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace carmina {

// body(std::type_identity<K>()) for each.
template <class Variant, class Body>
void for_alternatives(const Body& body) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (body(std::type_identity<std::variant_alternative_t<I, Variant>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Variant>>());
}

template <class Variant>
std::vector<std::string> alternative_names() {
  std::vector<std::string> names;
  for_alternatives<Variant>([&]<class K>(std::type_identity<K>) { names.emplace_back(K::name); });
  return names;
}

// body(Parameter...) with all that K lists.
template <class K, class Body>
auto with_parameters(const Body& body) {
  if constexpr (requires { K::parameters(); }) {
    return std::apply(body, K::parameters());
  } else {
    return body();
  }
}

// One that two of them have is listed once.
template <class Variant>
std::vector<ParameterHelp> parameter_help() {
  std::vector<ParameterHelp> all;
  const auto add = [&]<class K, class Number>(const Parameter<Number K::*>& one) {
    const auto same = [&](const ParameterHelp& other) { return other.name == one.name; };
    if (std::any_of(all.begin(), all.end(), same)) return;
    all.push_back({one.name, one.help, std::same_as<Number, std::vector<double>>});
  };
  for_alternatives<Variant>(
      [&]<class K>(std::type_identity<K>) { with_parameters<K>([&](const auto&... one) { (add(one), ...); }); });
  return all;
}

}  // namespace carmina
