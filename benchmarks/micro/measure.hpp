// micro/measure.hpp -- one way to time a primitive: beside the machine's own limits, round by round.
#pragma once
#include <benchmark/benchmark.h>

#include <carmina/core/execution.hpp>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "limits.hpp"

namespace carmina::micro {

struct Setting {
  int threads = 1;
  int rounds = 9;
  Index gemm_order = 2048;
  bool quick = false;

  // Sizes of a smoke test: it shows that everything runs, its rates mean nothing.
  Index size(Index full) const { return quick ? std::max<Index>(full / 16, 2) : full; }
  Execution execution() const {
    Execution result;
    result.threads = threads;
    return result;
  }
};

double seconds_of(const std::function<void()>& body);
double median(std::vector<double> values);

// Puts a rate and the limit's rate, both in `unit`, and their ratio into a row of the table.
void report(benchmark::State& state, double rate, double limit, const char* unit);

// Times body() after prepare(), in rounds. The machine's limit is measured before and after every round and
// averaged, so that a busy neighbour slows both; the reported rate, limit and ratio are medians over the
// rounds. `amount` is what a body does, in the unit of the table: "flop/s", "rows/s", ...
template <Real T>
void measure(
    benchmark::State& state, const Setting& setting, const Work& work, double amount, const char* unit,
    const std::function<void()>& body, const std::function<void()>& prepare = [] {});

using Body = std::function<void(benchmark::State&, const Setting&)>;
void register_benchmark(const Setting& setting, const std::string& name, const Body& body);
template <Real T>
void register_benchmark(const Setting& setting, const std::string& name, const Body& body) {
  register_benchmark(setting, format_text("{}, {}", name, std::is_same_v<T, float> ? "float" : "double"), body);
}

// One per file of this folder.
void register_limits(const Setting& setting);
void register_features(const Setting& setting);
void register_gram(const Setting& setting);
void register_solve(const Setting& setting);
void register_predict(const Setting& setting);
void register_kernel_block(const Setting& setting);

}  // namespace carmina::micro
