// models/machine/derived_names.cpp -- the words of what is derived from a fit, and the names of its columns.
#include "core/words.hpp"

#include <carmina/models/derived.hpp>

namespace carmina {
namespace {

constexpr Words<Derived, 6> derived_words{
    "a derived quantity", {"gradient", "divergence", "curl", "potential", "stream_function", "vector_potential"}};

}  // namespace

std::vector<std::string> derived_names() { return derived_words.names(); }
Derived parse_derived(const std::string& name) { return derived_words.parse(name); }
std::string derived_name(Derived what) { return derived_words.name(what); }

std::vector<std::string> derived_columns(Derived what, const std::vector<std::string>& inputs,
                                         const std::vector<std::string>& outputs) {
  if (what == Derived::curl && outputs.size() == 3) return {"curl_1", "curl_2", "curl_3"};
  if (what == Derived::vector_potential) return {"vector_potential_1", "vector_potential_2", "vector_potential_3"};
  if (what != Derived::gradient) return {derived_name(what)};
  std::vector<std::string> names;
  for (const std::string& output : outputs) {
    for (const std::string& input : inputs) names.push_back("d" + output + "/d" + input);
  }
  return names;
}

}  // namespace carmina
