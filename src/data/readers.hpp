// data/readers.hpp -- the readers by format; open_table chooses among them.
#pragma once
#include "data/read_limit.hpp"

#include <carmina/data/table.hpp>
#include <memory>
#include <string>

namespace carmina::data {

std::unique_ptr<TableReader> open_csv(const std::string& path, const ReadLimit& limit);
std::unique_ptr<TableReader> open_arff(const std::string& path, const ReadLimit& limit);
std::unique_ptr<TableReader> open_npy(const std::string& path, const ReadLimit& limit);
std::unique_ptr<TableReader> open_libsvm(const std::string& path, Index at_least_features, const ReadLimit& limit);
std::unique_ptr<TableReader> open_idx(const std::string& path, const ReadLimit& limit);
// Parquet, or Arrow IPC.
std::unique_ptr<TableReader> open_arrow(const std::string& path, bool parquet);

}  // namespace carmina::data
