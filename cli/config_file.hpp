// cli/config_file.hpp -- options of a command from a file.
#pragma once
#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace carmina::cli {

// Declares --config on each command.
void add_config(CLI::App& program);

// The words of a command line with the options of the file that its --config names behind them, but for those that are
// there already. Error for a file that cannot be read, or names what is no option of the command.
std::vector<std::string> with_config(const CLI::App& program, std::vector<std::string> words);

}  // namespace carmina::cli
