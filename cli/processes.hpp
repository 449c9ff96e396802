// cli/processes.hpp -- the program as one of several processes: which rows of the data it reads, and who writes.
#pragma once
#include <carmina/core/communicator.hpp>
#include <carmina/data/table.hpp>
#include <memory>
#include <string>

namespace carmina::cli {

// Those that mpirun has started; null: this one is alone. They are there while main() runs.
const Communicator* processes();
void set_processes(const Communicator* processes);
// Whether this process writes files and speaks: the first, or the only one.
bool speaks();

// The table that a name or a pattern stands for (data/joined_tables.hpp); of several processes each gets its own rows,
// in their order. Where a file does not say how many rows it has, one of the processes counts them.
std::unique_ptr<TableReader> open_data(const std::string& pattern, Index libsvm_features, std::size_t memory_budget);

}  // namespace carmina::cli
