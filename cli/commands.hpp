// cli/commands.hpp -- the sub-commands. Each declares its options on the program and runs once they are
// parsed.
#pragma once
#include <CLI/App.hpp>

#include <string_view>

namespace carmina::cli {

// All of them, of which one must be given; or the one that is chosen already, since making options takes a while.
void add_commands(CLI::App& program, std::string_view chosen = {});

void add_fit(CLI::App& program);
void add_tune(CLI::App& program);
void add_predict(CLI::App& program);
void add_evaluate(CLI::App& program);
void add_info(CLI::App& program);
void add_convert(CLI::App& program);

}  // namespace carmina::cli
