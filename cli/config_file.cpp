// cli/config_file.cpp -- lines NAME = VALUE as CLI11 reads them, made words of the command line.
#include "config_file.hpp"

#include <CLI/Config.hpp>
#include <algorithm>
#include <carmina/core/error.hpp>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace carmina::cli {

namespace {

constexpr std::string_view config_option = "--config";

// What --config is given, if it is there.
std::optional<std::string> config_of(const std::vector<std::string>& words) {
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string_view word = words[k];
    if (word == config_option && k + 1 < words.size()) return words[k + 1];
    if (word.starts_with("--config=")) return std::string(word.substr(config_option.size() + 1));
  }
  return std::nullopt;
}

bool is_given(const std::vector<std::string>& words, const std::string& option) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
}

std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}

}  // namespace

void add_config(CLI::App& program) {
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    command
        ->add_option(std::string(config_option),
                     "A file of lines NAME = VALUE, an option each, flags with true; the command line counts more")
        ->type_name("FILE");
  }
}

std::vector<std::string> with_config(const CLI::App& program, std::vector<std::string> words) {
  const auto path = config_of(words);
  const CLI::App* command = nullptr;
  for (const CLI::App* one : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (!words.empty() && one->get_name() == words.front()) command = one;
  }
  if (!path || !command) return words;
  std::ifstream file(*path);
  require(file.good(), "cannot read '{}': {}", *path, std::generic_category().message(errno));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(file);
  } catch (const CLI::Error& error) {
    fail("{}: {}", *path, error.what());
  }
  const std::size_t given = words.size();
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;                                // CLI11's marks of a section
    if (!item.parents.empty() && item.parents.front() != command->get_name()) continue;  // of another command
    std::string name = "--" + item.name;
    std::replace(name.begin() + 2, name.end(), '_', '-');
    const CLI::Option* option = command->get_option_no_throw(name);
    require(option != nullptr && name != config_option, "{}: 'carmina {}' has no option '{}'", *path,
            command->get_name(), name);
    if (is_given({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(given)}, name)) continue;
    const std::string value = joined(item.inputs);
    if (option->get_expected_max() > 0) {
      words.push_back(name + "=" + value);
    } else if (value == "true") {
      words.push_back(name);
    } else {
      require(value == "false", "{}: '{}' is true or false, found '{}'", *path, name, value);
    }
  }
  return words;
}

}  // namespace carmina::cli
