// models/model_file.hpp -- the file a model is kept in: named arrays and named texts, in the safetensors format.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace carmina {

// One array: safetensors' dtype ("F32", "F64", "I64", "U8"), shape, and the bytes, row-major, little-endian.
struct Tensor {
  std::string dtype;
  std::vector<Index> shape;
  std::vector<std::byte> bytes;
};

// What stands in a file. Texts go into safetensors' __metadata__; the format's own keys (format, version, checksum) are
// added on writing, checked and removed on reading.
struct ModelFile {
  std::map<std::string, std::string> texts;
  std::map<std::string, Tensor> tensors;

  template <Real T>
  void put(const std::string& name, ConstView<T> values);
  // The named array as a matrix; a vector is one column. Error if it is absent, of another type or not a matrix.
  template <Real T>
  Matrix<T> get(const std::string& name) const;
  const std::string& text(const std::string& name) const;  // Error if absent
};

// Written beside `path`, synced, renamed: either the whole file is there or what was there before.
void write_model_file(const std::string& path, const ModelFile& file);
// Error, with `path` in it, for a file that is absent, truncated, altered, not safetensors, not ours, or of a newer
// version. Every size is checked against the file's before anything is allocated, and what it takes to read against the
// memory budget (0: the machine's memory); nothing in the file is executed.
ModelFile read_model_file(const std::string& path, std::size_t memory_budget = 0);

// The same to and from memory, for pickling.
std::vector<std::byte> encode_model(const ModelFile& file);
ModelFile decode_model(const std::vector<std::byte>& bytes, const std::string& source);

}  // namespace carmina
