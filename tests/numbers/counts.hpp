// tests/numbers/counts.hpp -- how many cases were right, refused, or wrong, and which.
#pragma once
#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "support/share.hpp"

namespace carmina::numbers_test {

using testing::Share;

inline constexpr const char* all_numbers = "CARMINA_ALL_NUMBERS";

template <class T>
std::string describe(const Share& share, const std::string& what, const std::string& table, double alpha) {
  std::ostringstream line;
  line << "number " << share.number() << ": " << what << ", " << table << ", alpha " << alpha
       << (sizeof(T) == 4 ? ", float" : ", double");
  return line.str();
}

// What is said of a case that stopped before it converged, and says so.
inline const std::string unfinished = "unfinished";

class Counts {
 public:
  // trial() says what is wrong with its answer, or nothing; an Error that says something is a refusal.
  void take(const std::string& name, const std::function<std::string()>& trial) {
    std::string why;
    ++tried_;
    try {
      why = trial();
      if (why.empty()) ++right_;
      if (why == unfinished) ++unfinished_, why.clear();
    } catch (const Error& error) {
      why = error.what();
      const bool clear = why.size() > 15 && why.find('\n') == why.npos;
      if (clear) ++refused_, why.clear();
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (!why.empty()) wrong_.push_back(name + ": " + why);
  }
  void report(const char* what) const {
    std::printf("%s: %ld tried, %ld right, %ld refused, %ld not converged and said so, %zu wrong\n", what, tried_,
                right_, refused_, unfinished_, wrong_.size());
    for (std::size_t k = 0; k < wrong_.size() && k < 200; ++k) ADD_FAILURE() << wrong_[k];
  }

 private:
  long tried_ = 0, right_ = 0, refused_ = 0, unfinished_ = 0;
  std::vector<std::string> wrong_;
};

}  // namespace carmina::numbers_test
