// tests/numbers/counts.hpp -- how many cases were right, refused, or wrong, and which.
#pragma once
#include <carmina/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace carmina::numbers_test {

// Of the cases each `usual`-th is tried, all with CARMINA_ALL_NUMBERS=1, each tenth with 10.
inline long step_of(long usual) {
  const char* given = std::getenv("CARMINA_ALL_NUMBERS");
  return given ? std::max(1L, std::atol(given)) : usual;
}

template <class T>
std::string describe(const std::string& what, const std::string& table, double alpha) {
  std::ostringstream line;
  line << what << ", " << table << ", alpha " << alpha << (sizeof(T) == 4 ? ", float" : ", double");
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
