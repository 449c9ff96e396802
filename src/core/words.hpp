// core/words.hpp -- the words of an enumeration, in the order of its values.
#pragma once
#include <carmina/core/error.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace carmina {

// "'a', 'b' or 'c'"
template <class Range>
std::string either(const Range& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += format_text("{}'{}'", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return text;
}

template <class E, std::size_t N>
struct Words {
  const char* what;
  std::array<std::string_view, N> all;

  E parse(const std::string& word) const {
    const auto found = std::find(all.begin(), all.end(), word);
    if (found == all.end()) fail("{} must be {}, found '{}'", what, either(all), word);
    return static_cast<E>(found - all.begin());
  }
  std::string name(E value) const { return std::string(all[static_cast<std::size_t>(value)]); }
  std::vector<std::string> names() const { return {all.begin(), all.end()}; }
};

}  // namespace carmina
