// cli/options.hpp -- options that several sub-commands have, and checks of what they were given.
#pragma once
#include <CLI/App.hpp>
#include <carmina/core/execution.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"

namespace carmina::cli {

// --threads and --memory.
struct Resources {
  std::optional<long long> threads;
  std::string memory = "4G";

  void add_threads(CLI::App& command);
  void add_memory(CLI::App& command);
  // What the work may use; it reports to `line` and stops when a signal came. Error for a value out of range.
  Execution execution(ProgressLine& line) const;
};

// --targets or --target-file: where the targets are.
struct Targets {
  std::string columns, file;

  void add(CLI::App& command, const std::string& otherwise = "");
  void check(bool required) const;  // a parsing error (exit 2) for both, or for none where one is required
};

// "1 row", "2 rows"
std::string counted(Index count, const std::string& what);

// Before any work: `path` can be written and is none of `inputs`. Leaves what is there as it is.
void check_output(const std::string& path, const std::vector<std::string>& inputs);

// A number, a size ("2G") or an integer by its looks; whether it is in range is for later. Texts that are not
// make a parsing error (exit 2).
CLI::Validator looks_like_size();
CLI::Validator looks_like_number(const std::vector<std::string>& or_words);
CLI::Validator looks_like_integer();

}  // namespace carmina::cli
