// models/onnx/graph.cpp -- fields of ONNX's messages by their numbers in onnx.proto.
#include "models/onnx/graph.hpp"

#include <bit>

namespace carmina::onnx {

namespace {

// Operators of this edition of ONNX, and of its sister for machine learning; the format's own version.
constexpr std::uint64_t opset = 17, ml_opset = 3, format_version = 8;

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

Message named_tensor(const Name& name, Type type, const std::vector<std::int64_t>& shape) {
  Message tensor;
  for (const std::int64_t size : shape) tensor.put_integer(1, static_cast<std::uint64_t>(size));
  tensor.put_integer(2, static_cast<std::uint64_t>(type));
  tensor.put_text(8, name);
  return tensor;
}

Message value_info(const Name& name, Type type, Index columns) {
  Message rows, shape, tensor, kind, info;
  rows.put_text(2, "rows");
  shape.put_message(1, rows);
  if (columns > 0) {
    Message dimension;
    dimension.put_integer(1, static_cast<std::uint64_t>(columns));
    shape.put_message(1, dimension);
  }
  tensor.put_integer(1, static_cast<std::uint64_t>(type));
  tensor.put_message(2, shape);
  kind.put_message(1, tensor);
  info.put_text(1, name);
  info.put_message(2, kind);
  return info;
}

Message operator_set(const char* domain, std::uint64_t version) {
  Message set;
  set.put_text(1, domain);
  set.put_integer(2, version);
  return set;
}

constexpr std::uint64_t integer_kind = 2, integers_kind = 7, texts_kind = 8;

}  // namespace

Attribute::Attribute(const char* name, std::int64_t value) {
  message.put_text(1, name);
  message.put_integer(3, static_cast<std::uint64_t>(value));
  message.put_integer(20, integer_kind);
}
Attribute::Attribute(const char* name, const std::vector<std::int64_t>& values) {
  message.put_text(1, name);
  for (const std::int64_t value : values) message.put_integer(8, static_cast<std::uint64_t>(value));
  message.put_integer(20, integers_kind);
}
Attribute::Attribute(const char* name, const std::vector<std::string>& values) {
  message.put_text(1, name);
  for (const std::string& value : values) message.put_text(9, value);
  message.put_integer(20, texts_kind);
}

Name Graph::fresh(const char* what) { return std::string(what) + "_" + std::to_string(++count_); }

Name Graph::input(const Name& name, Type type, Index columns) {
  inputs_.put_message(11, value_info(name, type, columns));
  return name;
}

void Graph::output(const Name& name, const Name& from, Type type, Index columns) {
  Message node;
  node.put_text(1, from);
  node.put_text(2, name);
  node.put_text(4, "Identity");
  nodes_and_more_.put_message(1, node);
  outputs_.put_message(12, value_info(name, type, columns));
}

Name Graph::constant(const Matrix<double>& values) {
  const Name name = fresh("constant");
  Message tensor = named_tensor(name, Type::float64, {values.rows(), values.cols()});
  tensor.put_text(
      9, {reinterpret_cast<const char*>(values.data()), sizeof(double) * static_cast<std::size_t>(values.size())});
  nodes_and_more_.put_message(5, tensor);
  return name;
}

Name Graph::constant(const std::vector<std::int64_t>& values) {
  const Name name = fresh("constant");
  Message tensor = named_tensor(name, Type::int64, {static_cast<std::int64_t>(values.size())});
  tensor.put_text(9, {reinterpret_cast<const char*>(values.data()), sizeof(std::int64_t) * values.size()});
  nodes_and_more_.put_message(5, tensor);
  return name;
}

Name Graph::constant(const std::vector<std::string>& values) {
  const Name name = fresh("constant");
  Message tensor = named_tensor(name, Type::text, {static_cast<std::int64_t>(values.size())});
  for (const std::string& value : values) tensor.put_text(6, value);
  nodes_and_more_.put_message(5, tensor);
  return name;
}

Name Graph::node(const char* operation, const std::vector<Name>& inputs, const std::vector<Attribute>& attributes,
                 const char* domain, int outputs) {
  const Name name = fresh(operation);
  Message node;
  for (const Name& input : inputs) node.put_text(1, input);
  node.put_text(2, name);
  for (int k = 1; k < outputs; ++k) node.put_text(2, fresh("unused"));
  node.put_text(4, operation);
  for (const Attribute& attribute : attributes) node.put_message(5, attribute.message);
  if (*domain != '\0') {
    node.put_text(7, domain);
    uses_ml_ = true;
  }
  nodes_and_more_.put_message(1, node);
  return name;
}

std::string Graph::model(const std::vector<std::pair<std::string, std::string>>& notes) const {
  std::string graph = nodes_and_more_.bytes();
  Message name;
  name.put_text(2, "carmina");
  graph += name.bytes() + inputs_.bytes() + outputs_.bytes();
  Message model;
  model.put_integer(1, format_version);
  model.put_text(2, "carmina");
  model.put_text(3, CARMINA_VERSION);
  model.put_text(7, graph);
  model.put_message(8, operator_set("", opset));
  if (uses_ml_) model.put_message(8, operator_set("ai.onnx.ml", ml_opset));
  for (const auto& [key, value] : notes) {
    Message note;
    note.put_text(1, key);
    note.put_text(2, value);
    model.put_message(14, note);
  }
  return model.bytes();
}

}  // namespace carmina::onnx
