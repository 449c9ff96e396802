// models/onnx/graph.hpp -- an ONNX graph under construction: nodes by name, constants, inputs, outputs.
#pragma once
#include "models/onnx/protobuf.hpp"

#include <carmina/core/matrix.hpp>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace carmina::onnx {

enum class Type { float32 = 1, int64 = 7, text = 8, boolean = 9, float64 = 11 };

// What a tensor is called in the graph.
using Name = std::string;

struct Attribute {
  Attribute(const char* name, std::int64_t value);
  Attribute(const char* name, const std::vector<std::int64_t>& values);
  Attribute(const char* name, const std::vector<std::string>& values);
  Message message;
};

class Graph {
 public:
  // The rows of an input or output are "rows", whatever their number; `columns` 0: one dimension alone.
  Name input(const Name& name, Type type, Index columns);
  void output(const Name& name, const Name& from, Type type, Index columns);

  Name constant(const Matrix<double>& values);  // (rows, columns) in float64
  Name constant(double value) { return constant(Matrix<double>(Matrix<double>::Constant(1, 1, value))); }
  Name constant(const std::vector<std::int64_t>& values);
  Name constant(const std::vector<std::string>& values);

  // The first output of a node; `domain` "": ONNX's own.
  Name node(const char* operation, const std::vector<Name>& inputs, const std::vector<Attribute>& attributes = {},
            const char* domain = "", int outputs = 1);

  Name add(const Name& a, const Name& b) { return node("Add", {a, b}); }
  Name subtract(const Name& a, const Name& b) { return node("Sub", {a, b}); }
  Name multiply(const Name& a, const Name& b) { return node("Mul", {a, b}); }
  // Of matrices. Neither a factor nor the product may be multiplied with one number just before or behind:
  // onnxruntime's optimiser makes one operation of the two, whose number is a float. Such numbers belong into
  // constants.
  Name product(const Name& a, const Name& b) { return node("MatMul", {a, b}); }
  // The same numbers, by an operation that stands between: for rows of one column, whose scale is one number.
  Name apart(const Name& a) { return node("Max", {a, constant(-1e300)}); }
  Name cast(const Name& a, Type type) { return node("Cast", {a}, {{"to", static_cast<std::int64_t>(type)}}); }
  Name sum_rows(const Name& a) { return node("ReduceSum", {a, constant(std::vector<std::int64_t>{1})}); }  // (n, 1)

  // The whole ModelProto, with notes by name.
  std::string model(const std::vector<std::pair<std::string, std::string>>& notes) const;

 private:
  Name fresh(const char* what);
  Name put_constant(Message tensor);

  Message nodes_and_more_;  // GraphProto
  Message inputs_, outputs_;
  bool uses_ml_ = false;
  int count_ = 0;
};

}  // namespace carmina::onnx
