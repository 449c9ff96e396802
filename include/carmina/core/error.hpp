// core/error.hpp -- what a misuse throws: one sentence that says place, expected, found.
#pragma once
#include <carmina/core/format.hpp>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace carmina {

// Anything the caller can get wrong. Python sees it as ValueError, the command line prints it and exits with 1.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

// Of one row of the rows that were given, counted from 0: whoever read them from a file can say where it is.
class RowError : public Error {
 public:
  RowError(const std::string& what, std::ptrdiff_t row, const std::string& text)
      : Error(format_text("{}: row {}: {}", what, row + 1, text)), row_(row), text_(text) {}
  std::ptrdiff_t row() const { return row_; }
  const std::string& text() const { return text_; }

 private:
  std::ptrdiff_t row_;
  std::string text_;
};

// Thrown from inside a computation that was asked to stop (Ctrl-C). Not a misuse.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

[[noreturn]] void throw_error(std::string_view text, std::span<const formatting::Value> values);

template <class... Args>
[[noreturn]] void fail(formatting::PatternFor<Args...> pattern, const Args&... args) {
  throw_error(pattern.text(), std::array<formatting::Value, sizeof...(Args)>{formatting::value_of(args)...});
}

template <class... Args>
void require(bool condition, formatting::PatternFor<Args...> pattern, const Args&... args) {
  if (!condition) [[unlikely]] {
    fail(pattern, args...);
  }
}

}  // namespace carmina
