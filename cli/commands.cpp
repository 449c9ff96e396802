// cli/commands.cpp -- the commands together.
#include "commands.hpp"
#include "config_file.hpp"
#include "manual.hpp"
#include "options.hpp"

namespace carmina::cli {

void add_commands(CLI::App& program) {
  program.require_subcommand(1);
  add_fit(program);
  add_tune(program);
  add_predict(program);
  add_evaluate(program);
  add_info(program);
  add_convert(program);
  add_completion(program);
  add_config(program);
  group_options(program);
  check_numbers(program);
}

}  // namespace carmina::cli
