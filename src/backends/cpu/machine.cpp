// backends/cpu/machine.cpp -- the rate of products beside the rate of the instructions they are made of.
#include <carmina/core/machine.hpp>

#include "backends/blas.hpp"
#include "backends/vector_math.hpp"
#include "core/processors.hpp"

#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace carmina {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// The best of a few runs, in 10^9 operations a second: others may take the processor in between.
template <class Run>
double best_rate(double operations, const Run& run) {
  double least = 1e9;
  for (int k = 0; k < 7; ++k) {
    const auto start = std::chrono::steady_clock::now();
    run();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return operations / least / 1e9;
}

template <Real T>
double product_rate() {
  constexpr Index n = 256;
  const std::vector<T> A(n * n, T(0.5)), B(n * n, T(0.25));
  std::vector<T> C(n * n, T(0));
  return best_rate(2.0 * n * n * n, [&] {
    backend::gemm<T>(backend::Transpose::no, backend::Transpose::no, n, n, n, 1, A.data(), n, B.data(), n, 0, C.data(),
                     n);
  });
}

template <Real T>
double instruction_rate() {
  volatile T sink = 0;
  double operations = 0;
  const auto run = [&] { operations = backend::multiply_adds<T>(20'000, sink); };
  run();
  return best_rate(operations, run);
}

}  // namespace

Machine describe_machine() {
  Machine it;
  it.processor = processor_name();
  it.instructions = backend::vector_instruction_set();
  it.threads = Execution{}.thread_count();
  it.quota = processor_quota();
  it.float_products = product_rate<float>();
  it.double_products = product_rate<double>();
  it.float_limit = instruction_rate<float>();
  it.double_limit = instruction_rate<double>();
  return it;
}

}  // namespace carmina
