// models/file/tensor_table.hpp -- the arrays of each kind of model file, with their shapes: what is written is checked
// against it, what is read is checked against it before anything is made of it, and docs/model-file.md lists it.
#pragma once
#include <carmina/models/model_file.hpp>

#include <map>
#include <span>
#include <string>

namespace carmina {

// A shape is a list of dimensions: a product of numbers and letters, "3 b"; a sum with a number, "p + 1"; or
// "packed(m)", the lower triangle of order m row after row. Letters stand for sizes of at least 1, each the same
// wherever it stands. "i" and "k" at the end of a letter or a part of a name stand for a number from 0: of a term of
// the kernel, of a set of spectral points or of a pattern of missing targets.
struct TensorRow {
  const char* name;
  const char* type;  // "T" the model's precision, else the type itself
  const char* shape;
  bool may_be_infinite = false;
};

// In an order in which each row brings at most one new letter for each dimension.
std::span<const TensorRow> kernel_machine_tensors();
std::span<const TensorRow> spectral_mixture_tensors();

using TensorSizes = std::map<std::string, Index>;  // by letter, "q_0" for the q_i of number 0

// Error for an array that is not of the table, of another type, of a shape that does not go with the others, or with a
// number that is not finite, or NaN where infinity has a meaning. `type`: of "T". Gives the sizes that the letters
// stand for.
TensorSizes check_tensors(const ModelFile& file, std::span<const TensorRow> table, const std::string& type);

}  // namespace carmina
