// cli/manual.hpp -- the program for shells and for `man`, made of its own options.
#pragma once
#include <CLI/App.hpp>

namespace carmina::cli {

// The command `completion`, which prints such a text; called once all others are declared.
void add_completion(CLI::App& program);
// Puts options into groups, under which help and the manual list them.
void group_options(CLI::App& program);

}  // namespace carmina::cli
