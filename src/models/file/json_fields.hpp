// models/file/json_fields.hpp -- members of a struct under their names in JSON: one list serves to write and to read.
#pragma once
#include <carmina/core/error.hpp>
#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace carmina {

template <class Struct, class Value>
struct JsonField {
  const char* name;
  Value Struct::* member;
};

// fields(JsonField{"alpha", &FitRecord::alpha}, ...)
template <class... Fields>
constexpr std::tuple<Fields...> fields(Fields... all) {
  return {all...};
}

template <class Struct, class... Fields>
void put_fields(nlohmann::json& json, const Struct& from, const std::tuple<Fields...>& list) {
  std::apply([&](const auto&... field) { ((json[field.name] = from.*field.member), ...); }, list);
}

// `value`, which is called `name`, into `to`: an Error where it is not a number that `to` holds. (The library would
// cast 1e308 to an integer, which has no meaning.)
template <std::integral Value>
void get_integer(const nlohmann::json& value, const char* name, Value& to) {
  require(value.is_number_integer(), "'{}' must be an integer, found {}", name, value.dump());
  const bool fits = value.is_number_unsigned() ? std::in_range<Value>(value.get<std::uint64_t>())
                                               : std::in_range<Value>(value.get<std::int64_t>());
  require(fits, "'{}' is out of range: {}", name, value.dump());
  value.get_to(to);
}

// json[name] into `to`: an exception of the JSON library where it is absent or of another type.
template <class Value>
void get_value(const nlohmann::json& json, const char* name, Value& to) {
  const nlohmann::json& value = json.at(name);
  if constexpr (std::integral<Value> && !std::same_as<Value, bool>) {
    get_integer(value, name, to);
  } else {
    value.get_to(to);
  }
}
template <std::integral Value>
void get_value(const nlohmann::json& json, const char* name, std::vector<Value>& to) {
  to.clear();
  for (const nlohmann::json& value : json.at(name)) get_integer(value, name, to.emplace_back());
}

// Of a size or a count.
template <std::integral Value>
void get_count(const nlohmann::json& json, const char* name, Value& to) {
  get_value(json, name, to);
  require(std::cmp_greater_equal(to, 0), "'{}' must not be negative, found {}", name, to);
}

template <class Struct, class... Fields>
void get_fields(const nlohmann::json& json, Struct& to, const std::tuple<Fields...>& list) {
  std::apply([&](const auto&... field) { (get_value(json, field.name, to.*field.member), ...); }, list);
}

}  // namespace carmina
