// core/format.hpp -- text with values in its placeholders, in the notation of {fmt}, whose headers stay in format.cpp.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace carmina {

namespace formatting {

// float is an alternative of its own: "{}" writes as many digits as distinguish floats.
using Value = std::variant<bool, char, long long, unsigned long long, float, double, std::string_view>;

template <class T>
constexpr Value value_of(const T& value) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, char> || std::floating_point<T>) {
    return Value(std::in_place_type<T>, value);
  } else if constexpr (std::signed_integral<T>) {
    return Value(std::in_place_type<long long>, value);
  } else if constexpr (std::unsigned_integral<T>) {
    return Value(std::in_place_type<unsigned long long>, value);
  } else {
    return Value(std::in_place_type<std::string_view>, value);
  }
}

enum class Kind { integer, real, text };

template <class T>
inline constexpr Kind kind_of = std::is_floating_point_v<T> ? Kind::real
                                : std::is_integral_v<T>     ? Kind::integer
                                                            : Kind::text;

// Throws, which stops the compiler, unless there is a placeholder for each argument, in their order, with a
// presentation that suits it.
constexpr void check(std::string_view text, std::span<const Kind> arguments) {
  const auto among = [](char c, std::string_view all) { return all.find(c) != all.npos; };
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') continue;
    if (i + 1 == text.size()) throw "a brace at the end of the text";
    if (text[i + 1] == text[i]) {  // {{ and }} are braces of the text itself
      ++i;
      continue;
    }
    if (text[i] == '}') throw "a closing brace without an opening one";
    if (used == arguments.size()) throw "more placeholders than arguments";
    const Kind kind = arguments[used++];
    ++i;
    if (text[i] != '}' && text[i] != ':') throw "placeholders take the arguments in their order: {} or {:...}";
    for (; i < text.size() && text[i] != '}'; ++i) {
      if (text[i] == '.' && kind == Kind::integer) throw "an integer has no precision";
      if (text[i] == '{') {  // a width or a precision that is itself an argument
        if (used == arguments.size() || arguments[used] != Kind::integer) throw "a width must be an integer";
        ++used;
        ++i;
        if (i == text.size() || text[i] != '}') throw "a width that is an argument is written {}";
      }
    }
    if (i == text.size()) throw "a placeholder without its closing brace";
    if (among(text[i - 1], "eEfFgG") && kind != Kind::real) throw "e, f and g are for floating-point numbers";
    if (among(text[i - 1], "dxX") && kind != Kind::integer) throw "d and x are for integers";
  }
  if (used != arguments.size()) throw "fewer placeholders than arguments";
}

// A string literal that was checked against the types of its arguments.
template <class... Args>
class Pattern {
 public:
  template <std::convertible_to<std::string_view> S>
  consteval Pattern(const S& text) : text_(text) {  // NOLINT(google-explicit-constructor)
    check(text_, std::array<Kind, sizeof...(Args)>{kind_of<Args>...});
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

template <class... Args>
using PatternFor = Pattern<std::type_identity_t<Args>...>;

std::string format(std::string_view text, std::span<const Value> values);
void print(std::FILE* file, std::string_view text, std::span<const Value> values);

}  // namespace formatting

// format_text("{} rows, {:.3g} s", rows, seconds).
template <class... Args>
std::string format_text(formatting::PatternFor<Args...> pattern, const Args&... args) {
  return formatting::format(pattern.text(),
                            std::array<formatting::Value, sizeof...(Args)>{formatting::value_of(args)...});
}

template <class... Args>
void print_text(std::FILE* file, formatting::PatternFor<Args...> pattern, const Args&... args) {
  formatting::print(file, pattern.text(),
                    std::array<formatting::Value, sizeof...(Args)>{formatting::value_of(args)...});
}

template <class... Args>
void print_text(formatting::PatternFor<Args...> pattern, const Args&... args) {
  print_text(stdout, pattern, args...);
}

// join_text({"a", "b"}, ", ") is "a, b".
std::string join_text(std::span<const std::string> parts, std::string_view separator);

}  // namespace carmina
