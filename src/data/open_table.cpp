// data/open_table.cpp -- which reader a file gets, by the ending of its name; whole files in memory.
#include "data/byte_input.hpp"
#include "data/readers.hpp"

#include <carmina/core/error.hpp>
#include <carmina/data/table.hpp>

namespace carmina {

namespace {

// "digits.idx", and the names of the MNIST files: "train-images-idx3-ubyte", "train-images.idx3-ubyte".
bool has_idx_name(const std::string& name) {
  if (name.ends_with(".idx")) return true;
  const auto at = name.rfind("idx");
  return at != std::string::npos && at > 0 && (name[at - 1] == '-' || name[at - 1] == '.') && at + 4 < name.size() &&
         name[at + 3] >= '1' && name[at + 3] <= '9' && name[at + 4] == '-';
}

}  // namespace

std::unique_ptr<TableReader> open_table(const std::string& path, Index libsvm_features, std::size_t memory_budget) {
  const data::ReadLimit limit(memory_budget);
  std::string name = data::lower(path.substr(path.rfind('/') + 1));
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (name.ends_with(".csv")) return data::open_csv(path, limit);
  if (name.ends_with(".arff")) return data::open_arff(path, limit);
  if (name.ends_with(".npy")) return data::open_npy(path, limit);
  for (const char* ending : {".libsvm", ".svm", ".svmlight"}) {
    if (name.ends_with(ending)) return data::open_libsvm(path, libsvm_features, limit);
  }
  if (has_idx_name(name)) return data::open_idx(path, limit);
  for (const char* ending : {".parquet", ".arrow", ".feather", ".ipc"}) {
    if (name.ends_with(ending)) return data::open_arrow(path, name.ends_with(".parquet"));
  }
  fail(
      "cannot read '{}': the ending of its name must be .csv, .arff, .npy, .libsvm, .svm, .svmlight, .idx or "
      "-idx3-ubyte, with .gz behind it when it is packed",
      path);
}

Index TableReader::read_floats(View<float>) { fail("{}: cells of this format are not floats", path()); }

Table read_table(const std::string& path, std::size_t memory_budget) {
  const auto reader = open_table(path, 0, memory_budget);
  Table table{reader->columns(), {}};
  const auto columns = static_cast<Index>(table.columns.size());
  // What a header promises is not allocated before that much has been read: a packed file cannot be checked
  // before.
  Index capacity = std::max<Index>(1, (Index{1} << 14) / columns), count = 0;
  if (reader->rows()) capacity = std::min(capacity, *reader->rows());
  for (bool more = true; more;) {
    table.values.conservativeResize(capacity, columns);
    const Index found = reader->read(table.values.middleRows(count, capacity - count));
    count += found;
    more = count == capacity && count != reader->rows();
    capacity = reader->rows() ? std::min(2 * capacity, *reader->rows()) : 2 * capacity;
  }
  table.values.conservativeResize(count, columns);
  return table;
}

}  // namespace carmina
