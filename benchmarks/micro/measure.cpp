// micro/measure.cpp -- rounds of a primitive between two measurements of the machine.
#include "measure.hpp"

#include <algorithm>
#include <chrono>

namespace carmina::micro {

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void report(benchmark::State& state, double rate, double limit, const char* unit) {
  state.SetLabel(unit);
  state.counters["rate"] = rate;
  state.counters["limit"] = limit;
  if (!state.counters.contains("of_limit")) state.counters["of_limit"] = rate / limit;
}

template <Real T>
void measure(benchmark::State& state, const Setting& setting, const Work& work, double amount, const char* unit,
             const std::function<void()>& body, const std::function<void()>& prepare) {
  Limits<T> limits(setting.gemm_order, setting.threads);
  prepare();
  body();  // memory is touched, threads are started
  std::vector<double> rates, best, ratios;
  double before = limits.seconds(work);
  for (auto _ : state) {
    prepare();
    const double spent = seconds_of(body);
    const double after = limits.seconds(work);
    const double possible = (before + after) / 2;
    before = after;
    rates.push_back(amount / spent);
    best.push_back(amount / possible);
    ratios.push_back(possible / spent);
    state.SetIterationTime(spent);
  }
  state.counters["of_limit"] = median(ratios);
  // Fastest round against fastest limit: near the median on a quiet machine, far from it on a busy one.
  state.counters["of_limit_fastest"] =
      *std::max_element(rates.begin(), rates.end()) / *std::max_element(best.begin(), best.end());
  report(state, median(rates), median(best), unit);
}

template void measure<float>(benchmark::State&, const Setting&, const Work&, double, const char*,
                             const std::function<void()>&, const std::function<void()>&);
template void measure<double>(benchmark::State&, const Setting&, const Work&, double, const char*,
                              const std::function<void()>&, const std::function<void()>&);

void register_benchmark(const Setting& setting, const std::string& name, const Body& body) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { body(state, setting); })
      ->UseManualTime()
      ->Iterations(setting.rounds)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace carmina::micro
