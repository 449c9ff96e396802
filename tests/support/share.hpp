// tests/support/share.hpp -- which of many cases a run tries: some, all, or one share of all, so that several processes
// can try all of them together.
#pragma once
#include <algorithm>
#include <cstdlib>

namespace carmina::testing {

// Each `usual`-th case, from the first on. With the variable set to 1 all of them; to 10 each tenth; to 10+3 each tenth
// from number 3 on (numbers begin at 0). has_next() is asked for each in its order.
class Share {
 public:
  Share(const char* variable, long usual) : step_(usual) {
    const char* given = std::getenv(variable);
    if (!given) return;
    given_ = true;
    char* end = nullptr;
    step_ = std::max(1L, std::strtol(given, &end, 10));
    if (*end == '+') first_ = std::strtol(end + 1, nullptr, 10);
  }
  bool is_given() const { return given_; }
  bool has_next() {
    const long number = number_++;
    return number >= first_ && (number - first_) % step_ == 0;
  }
  // The number of the last one asked for.
  long number() const { return number_ - 1; }

 private:
  long step_, first_ = 0, number_ = 0;
  bool given_ = false;
};

}  // namespace carmina::testing
