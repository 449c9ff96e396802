// arrow.hpp -- Arrow's C data interface: its structs, which are fixed, and a table of chunks read column by column.
// https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

extern "C" {
struct ArrowSchema {
  const char *format, *name, *metadata;
  std::int64_t flags, n_children;
  ArrowSchema **children, *dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray **children, *dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace carmina::python {

// The values of a column, in the order of the rows.
struct ArrowNumbers {
  std::vector<double> values;  // NaN where missing
  bool single = false;         // they were floats
};
struct ArrowText {
  std::vector<std::int32_t> codes;  // -1 where missing
  std::vector<std::string> levels;  // by their first rows
  bool truths = false;              // they were booleans
  bool categories = false;          // of a dictionary
};
struct ArrowDates {
  std::vector<std::int64_t> ticks;  // since 1970, the smallest integer where missing
  std::int64_t ticks_per_second = 1;
};
using ArrowColumn = std::variant<ArrowNumbers, ArrowText, ArrowDates>;

// All chunks of a stream of record batches, which must be of structs: a table.
class ArrowTable {
 public:
  explicit ArrowTable(ArrowArrayStream& stream);  // which is released
  ~ArrowTable();
  ArrowTable(const ArrowTable&) = delete;
  ArrowTable& operator=(const ArrowTable&) = delete;

  Index rows() const;
  std::vector<std::string> names() const;
  // Error for a type that is neither number, text, truth value nor date.
  ArrowColumn column(Index j) const;

 private:
  void release();

  ArrowSchema schema_{};
  std::vector<ArrowArray> chunks_;
};

}  // namespace carmina::python
