// cli/processes.cpp -- rows of files divided among processes.
#include "processes.hpp"

#include <carmina/core/error.hpp>

#include "data/data_rows.hpp"
#include "data/joined_tables.hpp"

#include "standard_input.hpp"

namespace carmina::cli {

namespace {

const Communicator* all_processes = nullptr;

Index count_rows(TableReader& table) {
  if (table.rows()) return *table.rows();
  const auto columns = static_cast<Index>(table.columns().size());
  Matrix<double> some(std::max<Index>(1, (Index{1} << 17) / columns), columns);
  Index rows = 0;
  for (Index count = some.rows(); count == some.rows(); rows += count) count = table.read(some);
  return rows;
}

}  // namespace

const Communicator* processes() { return all_processes; }
void set_processes(const Communicator* processes) { all_processes = processes; }
bool speaks() { return !all_processes || all_processes->rank() == 0; }

std::unique_ptr<TableReader> open_data(const std::string& pattern, Index libsvm_features, std::size_t memory_budget) {
  if (pattern == "-") {
    if (all_processes && all_processes->size() > 1) {
      fail("the standard input can be read by one process, not by {}: name a file", all_processes->size());
    }
    return open_input(pattern, libsvm_features, memory_budget);
  }
  const std::vector<std::string> files = files_of(pattern);
  auto table = open_tables(files, libsvm_features, memory_budget);
  if (!all_processes) return table;
  const int rank = all_processes->rank(), size = all_processes->size();
  Index rows = 0;
  if (table->rows()) {
    rows = *table->rows();
  } else {
    std::int64_t counted = 0;
    for (std::size_t k = static_cast<std::size_t>(rank); k < files.size(); k += static_cast<std::size_t>(size)) {
      counted += count_rows(*open_table(files[k], libsvm_features, memory_budget));
    }
    all_processes->sum(&counted, 1);
    rows = counted;
  }
  const Index segment = RowGrid::of(rows, static_cast<Index>(table->columns().size())).segment;
  const Index segments = (rows + segment - 1) / segment;
  const auto begin = [&](int k) { return std::min(rows, k * segments / size * segment); };
  return some_rows(std::move(table), begin(rank), begin(rank + 1) - begin(rank));
}

}  // namespace carmina::cli
