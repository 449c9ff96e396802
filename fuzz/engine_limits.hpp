// fuzz/engine_limits.hpp -- the memory and the time that one input took, by the sanitizer's hooks in malloc and free.
#pragma once
#include "fuzz/targets.hpp"

#include <ctime>

namespace carmina::fuzz {

// From here to check(). What is allocated once and for all by the first input is of that input.
class Used {
 public:
  Used();
  // A Finding where it was too much; `unpacked`: the size of what counts, where that is not the size of the input.
  // The largest of all is printed when the program ends.
  void check(Bytes bytes, std::size_t (*unpacked)(Bytes)) const;

 private:
  long live_before_;
  std::clock_t begin_;
};

}  // namespace carmina::fuzz
