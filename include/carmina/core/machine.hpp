// core/machine.hpp -- what the library found of the machine it runs on.
#pragma once
#include <string>

namespace carmina {

struct Machine {
  std::string processor;     // as the system calls it
  std::string instructions;  // of the library's own loops: "avx512", "avx2", "portable"
  int threads = 1;           // of a fit that is given no number
  double quota = 0;          // processors' time that a container leaves; infinity where it leaves all
  // In one thread, in 10^9 operations a second: products of matrices, and the most that the instructions give.
  double float_products = 0, float_limit = 0, double_products = 0, double_limit = 0;
};

// Measures for a few milliseconds.
Machine describe_machine();

}  // namespace carmina
