// cli/standard_input.hpp -- a table from standard input, which a fit reads more than once.
#pragma once
#include <carmina/data/table.hpp>
#include <memory>
#include <string>

namespace carmina::cli {

// As open_table; "-" is CSV from standard input. What comes through a pipe is kept in a temporary file without a name,
// which is gone with the process.
std::unique_ptr<TableReader> open_input(const std::string& path, Index libsvm_features, std::size_t memory_budget);

// A message in which standard input is called that.
std::string with_standard_input(std::string message);

}  // namespace carmina::cli
