// data/joined_tables.hpp -- several files as one table, and some rows of a table as a table.
#pragma once
#include <carmina/data/table.hpp>

#include <memory>
#include <string>
#include <vector>

namespace carmina {

// The files that a pattern stands for (* ? [...], as a shell takes them), in the order of their names, numbers in them
// by their size: part-2 before part-10. A file of that very name is itself. Error where there is none.
std::vector<std::string> files_of(const std::string& pattern);

// The rows of the files one after the other; their columns must be the same.
std::unique_ptr<TableReader> open_tables(const std::vector<std::string>& paths, Index libsvm_features = 0,
                                         std::size_t memory_budget = 0);

// Rows [first, first + count) of a table, which has so many.
std::unique_ptr<TableReader> some_rows(std::unique_ptr<TableReader> table, Index first, Index count);

// A reader that need not read what it passes over.
class SkipsRows {
 public:
  virtual ~SkipsRows() = default;
  virtual void skip(Index rows) = 0;  // there are that many
};

}  // namespace carmina
