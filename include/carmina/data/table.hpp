// data/table.hpp -- a file of numbers, read in blocks of rows; one reader per format, chosen by the file's
// ending.
#pragma once
#include <carmina/core/matrix.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace carmina {

struct Column {
  std::string name;                     // from the header, else "c1", "c2", ...
  std::vector<std::string> categories;  // nominal (ARFF): a cell holds the index of its category; else empty
};

// Reads the rows of a file in order. A missing cell is NaN. Anything malformed throws Error with file, line,
// column.
class TableReader {
 public:
  virtual ~TableReader() = default;

  virtual const std::string& path() const = 0;
  virtual const std::vector<Column>& columns() const = 0;
  virtual std::optional<Index> rows() const = 0;  // where the format tells without reading the whole file

  // Fills the first rows of `out` (capacity, columns().size()); returns how many, fewer than the capacity
  // only at the end of the file, where it is 0 from then on.
  virtual Index read(View<double> out) = 0;
  virtual void rewind() = 0;

  // Whether float holds every cell as it is (float32 and short integers of binary files): then they may be read so.
  virtual bool fits_float() const { return false; }
  virtual Index read_floats(View<float> out);

  // Where row `row` of the block last read stands, for messages: "field.csv:17" (line) or "field.npy: row 16"
  // (from 1).
  std::string place(Index row) const { return place_at(position(row)); }
  // The same in two steps, so that places can be kept as numbers: the second depends on nothing that reading changes.
  virtual Index position(Index row) const = 0;
  virtual std::string place_at(Index position) const = 0;
};

// CSV, ARFF, NPY, LIBSVM, IDX, each also with .gz behind it; Parquet and Arrow IPC where libcarmina_arrow.so is.
// LIBSVM's label is the last column, named "target", so that "the last column" means the same in every
// format. A LIBSVM file does not say how many features it has: those behind its highest index are zero, and
// `libsvm_features` (what a model was fitted with) adds them. A quarter of the memory budget (0: of the machine's
// memory) is for columns and lines: a file that needs more is refused before that is allocated, whatever it says of
// itself. A file that changes while it is read is an error.
std::unique_ptr<TableReader> open_table(const std::string& path, Index libsvm_features = 0,
                                        std::size_t memory_budget = 0);

// A whole file in memory.
struct Table {
  std::vector<Column> columns;
  Matrix<double> values;  // (rows, columns), NaN where missing
};
Table read_table(const std::string& path, std::size_t memory_budget = 0);

// Writes CSV or NPY by the ending (.gz too): beside the file, synced, renamed. NPY has no place for names;
// without names a CSV file has no header.
void write_table(const std::string& path, const std::vector<std::string>& names, const Matrix<double>& values);

// The same in blocks, for predictions that do not fit in memory. Nothing is at `path` before finish();
// without it the file beside is removed.
class TableWriter {
 public:
  TableWriter(const std::string& path, std::vector<std::string> names);
  ~TableWriter();
  TableWriter(TableWriter&&) noexcept;
  void write(ConstView<double> rows);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carmina
