// models/file/json_fields.hpp -- members of a struct under their names in JSON: one list serves to write and to read.
#pragma once
#include <nlohmann/json.hpp>

#include <tuple>

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

// An exception of the JSON library where one is absent or of another type.
template <class Struct, class... Fields>
void get_fields(const nlohmann::json& json, Struct& to, const std::tuple<Fields...>& list) {
  std::apply([&](const auto&... field) { (json.at(field.name).get_to(to.*field.member), ...); }, list);
}

}  // namespace carmina
