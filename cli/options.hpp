// cli/options.hpp -- options that several sub-commands have, and checks of what they were given.
#pragma once
#include <CLI/App.hpp>
#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"

namespace carmina::cli {

// A command that runs once its options are parsed. A program that parses again begins with the values as they are
// declared; where options write them stays.
template <class Command>
void run_when_parsed(CLI::App& command, const std::shared_ptr<Command>& it) {
  command.preparse_callback([it, declared = *it](std::size_t) { *it = declared; });
  command.callback([it] { it->run(); });
}

// Values of options by their names, each of which stays where it is.
template <class Value>
struct NamedValues : std::map<std::string, Value> {
  NamedValues() = default;
  NamedValues(const NamedValues&) = default;
  NamedValues& operator=(const NamedValues& others) {
    for (auto& [name, value] : *this) value = others.at(name);
    return *this;
  }
};

// --threads, --memory, --device and --device-library.
struct Resources {
  std::optional<long long> threads;
  std::string memory = "4G", device = "auto", device_library;

  void add_threads(CLI::App& command);
  void add_memory(CLI::App& command);
  void add_device(CLI::App& command);
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
// For every option of the commands whose value is a number: written plainly (no leading zero, which elsewhere means
// octal), and one that the machine has. Called once all are declared.
void check_numbers(CLI::App& program);
// The number in such a text, nothing for a word. Error when it is out of range.
template <class N>
std::optional<N> number_in(const std::string& option, std::string_view text) {
  N value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument) return std::nullopt;
  require(code == std::errc() && end == text.data() + text.size(), "{}: {} is out of range", option, text);
  return value;
}

}  // namespace carmina::cli
