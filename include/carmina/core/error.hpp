// core/error.hpp -- what a misuse throws: one sentence that says place, expected, found.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace carmina {

// Anything the caller can get wrong. Python sees it as ValueError, the command line prints it and exits with 1.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

// Thrown from inside a computation that was asked to stop (Ctrl-C). Not a misuse.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(format_text(format, std::forward<Args>(args)...));
}

template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]] {
    fail(format, std::forward<Args>(args)...);
  }
}

}  // namespace carmina
