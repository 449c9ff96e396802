// micro/main.cpp -- the program: one table on the screen, Google Benchmark's JSON with --benchmark_out=FILE.
//   carmina_micro [--quick] [--threads=N] [--benchmark_filter=REGEX ...]
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>
#include "backends/vector_math.hpp"

#include "measure.hpp"

namespace carmina::micro {

namespace {

// "213 Gflop/s"
std::string with_unit(double value, const std::string& unit) {
  for (const auto& [factor, prefix] : {std::pair(1e9, "G"), {1e6, "M"}, {1e3, "k"}}) {
    if (value >= factor) return format_text("{:.3g} {}{}", value / factor, prefix, unit);
  }
  return format_text("{:.3g} {}", value, unit);
}

class Table final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override {
    print_text("{:<34} {:>10} {:>18} {:>18} {:>8}\n", "", "ms", "rate", "machine's limit", "reached");
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto counter = [&](const char* name) { return run.counters.at(name).value; };
      if (run.error_occurred) {
        print_text("{:<34} failed: {}\n", run.run_name.function_name, run.error_message);
      } else if (run.run_name.function_name.starts_with("limit")) {
        print_text("{:<34} {:>10} {:>18}\n", run.run_name.function_name, "",
                   with_unit(counter("rate"), run.report_label));
      } else {
        print_text("{:<34} {:>10.3f} {:>18} {:>18} {:>7.0f}%\n", run.run_name.function_name, run.GetAdjustedRealTime(),
                   with_unit(counter("rate"), run.report_label), with_unit(counter("limit"), run.report_label),
                   100 * counter("of_limit"));
      }
    }
    std::fflush(stdout);
  }
};

Setting take_own_options(std::vector<char*>& arguments) {
  Setting setting;
  setting.threads = Execution{}.thread_count();
  std::erase_if(arguments, [&](const char* text) {
    const std::string_view argument = text;
    if (argument == "--quick") {
      setting.quick = true;
      setting.rounds = 3;
      setting.gemm_order = 512;
      return true;
    }
    if (argument.starts_with("--threads=")) {
      setting.threads = std::max(1, std::atoi(text + std::string_view("--threads=").size()));
      return true;
    }
    return false;
  });
  return setting;
}

int run(std::vector<char*> arguments) {
  const Setting setting = take_own_options(arguments);
  auto count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  benchmark::AddCustomContext("threads", std::to_string(setting.threads));
  benchmark::AddCustomContext("vector_instructions", backend::vector_instruction_set());
  benchmark::AddCustomContext("quick", setting.quick ? "yes" : "no");
  for (const auto registration :
       {register_limits, register_features, register_gram, register_solve, register_predict, register_kernel_block}) {
    registration(setting);
  }
  Table table;
  benchmark::RunSpecifiedBenchmarks(&table);
  benchmark::Shutdown();
  return 0;
}

}  // namespace

}  // namespace carmina::micro

int main(int argc, char** argv) { return carmina::micro::run({argv, argv + argc}); }
