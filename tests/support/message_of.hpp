// tests/support/message_of.hpp -- what a misuse says.
#pragma once
#include <carmina/core/error.hpp>

#include <functional>
#include <string>

namespace carmina::testing {

// The text of the Error that f throws; empty when it throws none.
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace carmina::testing
