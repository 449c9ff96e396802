// models/onnx.hpp -- a fitted model as an ONNX file: what other programs predict with.
#pragma once
#include <carmina/models/predictor.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace carmina {

struct OnnxOptions {
  bool deviations = true;  // an output `std` where the model knows them
  // Of a classifier, in the order of its scores: outputs `label` and `probabilities` take the place of `prediction`.
  std::variant<std::monostate, std::vector<std::string>, std::vector<std::int64_t>> labels = {};
};

// The bytes of an ONNX model, opset 17 (and 3 of ai.onnx.ml where inputs are text), that computes in double.
//
// Inputs: `X`, (rows, dim_in) in the model's precision; or, of a model with an encoder, one for each column of the
// table under its name, (rows, 1): text for categories ("" is a missing cell), numbers for numbers and dates. Outputs,
// in the model's precision: `prediction` (rows, dim_out), `std` (rows, dim_out), and of a classifier `label` (rows) and
// `probabilities` (rows, classes). Error, with the reason, for a kernel whose formula ONNX cannot write.
std::string to_onnx(const Predictor& model, const OnnxOptions& options = {});

}  // namespace carmina
