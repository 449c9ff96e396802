// cli/commands.cpp -- the commands together.
#include "commands.hpp"
#include "config_file.hpp"
#include "manual.hpp"
#include "options.hpp"

#include <algorithm>
#include <iterator>

namespace carmina::cli {

void add_commands(CLI::App& program, std::string_view chosen) {
  struct Command {
    std::string_view name;
    void (*add)(CLI::App&);
  };
  static constexpr Command commands[] = {{"fit", add_fit},           {"tune", add_tune}, {"predict", add_predict},
                                         {"evaluate", add_evaluate}, {"info", add_info}, {"convert", add_convert}};
  const bool one = std::any_of(std::begin(commands), std::end(commands), [&](auto& it) { return it.name == chosen; });
  program.require_subcommand(1);
  for (const Command& command : commands) {
    if (!one || command.name == chosen) command.add(program);
  }
  if (!one) add_completion(program);
  add_config(program);
  group_options(program);
  check_numbers(program);
}

}  // namespace carmina::cli
