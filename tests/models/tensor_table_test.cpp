// tests/models/tensor_table_test.cpp -- arrays of model files that do not go together are refused, whichever they are,
// and docs/model-file.md lists those of the code.
#include "models/file/tensor_table.hpp"

#include <carmina/models/predictor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include <support/given_numbers.hpp>
#include "mixture_data.hpp"
#include "support/message_of.hpp"
#include "support/random_matrix.hpp"

namespace carmina::tensor_table_test {
namespace {

using carmina::testing::message_of;
using carmina::testing::random_matrix;
using ::testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Files of every kind, small.
std::vector<std::pair<std::string, ModelFile>> examples() {
  std::vector<std::pair<std::string, ModelFile>> all;
  const Matrix<double> X = random_matrix(30, 2, 1);
  Matrix<double> Y = random_matrix(30, 2, 2);
  const auto machine = [&](const std::string& name, FitOptions options, bool variances = false) {
    all.emplace_back(name, KernelMachine<double>::fit(X, Y, options).to_file(KernelStorage::in_file, variances));
  };
  FitOptions options = given_numbers();
  options.input_names = {"u", "v"};
  options.n_components = 8;
  options.scale_inputs = true;
  options.estimate_noise = true;
  options.keep_moments = true;
  machine("fourier", options, true);
  options.coupling = OutputMatrix((Matrix<double>(2, 2) << 2, 1, 1, 3).finished());
  options.sampling = Sampling::phases;
  machine("coupled", options);
  options.coupling = Independent{};
  options.sampling = Sampling::hadamard;
  options.keep_moments = false;
  machine("hadamard", options);
  options = given_numbers();
  options.input_names = {"u", "v"};
  options.approximation = "exact";
  options.estimate_noise = true;
  machine("exact", options);
  Y(3, 1) = nan;
  machine("missing", options);
  Y = random_matrix(30, 2, 2);
  options.kernel = Kernel(SpectralMixture(
      Mixture{Vector<double>::Ones(2), random_matrix(2, 2, 3), Matrix<double>::Ones(2, 2), GaussianFamily{}}));
  machine("mixture kernel", options);
  for (const Inference inference : {Inference::fourier, Inference::exact, Inference::inducing}) {
    SpectralMixtureOptions mixture = carmina::testing::small_mixture(12, 2, 5);
    mixture.inference = inference;
    all.emplace_back(inference_name(inference), SpectralMixtureMachine::fit(X, Y, mixture).to_file());
  }
  return all;
}

std::string refusal(const ModelFile& file) {
  return message_of([&] { Predictor::from_file(file, "m"); });
}

// Another shape for an array, its bytes cut or filled up with ones.
ModelFile reshaped(ModelFile file, const std::string& name, const std::vector<Index>& shape) {
  Tensor& tensor = file.tensors.at(name);
  Index size = 1;
  for (const Index extent : shape) size *= extent;
  tensor.shape = shape;
  tensor.bytes.resize(static_cast<std::size_t>(size) * sizeof(double));
  return file;
}

TEST(TensorTable, EveryArrayIsCheckedAgainstTheOthers) {
  for (const auto& [kind, file] : examples()) {
    EXPECT_EQ(refusal(file), "") << kind;
    for (const auto& [name, tensor] : file.tensors) {
      const Index rows = tensor.shape[0], columns = tensor.shape[1];
      std::vector<std::vector<Index>> wrong = {{rows + 1, columns}, {rows, columns + 1}, {0, columns},
                                               {rows, 0},           {rows, columns, 1},  {rows * columns + 1}};
      if (rows > 1) wrong.push_back({rows - 1, columns});
      if (columns > 1) wrong.push_back({rows, columns - 1});
      for (const auto& shape : wrong) {
        EXPECT_NE(refusal(reshaped(file, name, shape)), "") << kind << " " << name << ::testing::PrintToString(shape);
      }
    }
  }
}

TEST(TensorTable, NumbersThatAreNotFiniteAreRefused) {
  for (const auto& [kind, file] : examples()) {
    for (const auto& [name, tensor] : file.tensors) {
      for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
        if (name == "left_out" && bad > 0) continue;  // an interval may be infinite
        ModelFile broken = file;
        std::vector<std::byte>& bytes = broken.tensors.at(name).bytes;
        std::memcpy(bytes.data() + bytes.size() - sizeof bad, &bad, sizeof bad);
        EXPECT_THAT(refusal(broken), HasSubstr("array '" + name + "' holds")) << kind;
      }
    }
  }
}

TEST(TensorTable, WhatIsNotOfTheTableIsRefused) {
  for (const auto& [kind, file] : examples()) {
    ModelFile more = file;
    more.put<double>("payload", Matrix<double>::Ones(1, 1));
    EXPECT_THAT(refusal(more), HasSubstr("'payload' is none that such a model has")) << kind;
    ModelFile integers = file;
    integers.tensors.begin()->second.dtype = "I64";
    EXPECT_THAT(refusal(integers), HasSubstr("is I64, expected F64")) << kind;
  }
}

// The three files that ended the process.
TEST(TensorTable, CraftedMixturesAreRefused) {
  const ModelFile file = examples()[6].second;
  const Index q = file.tensors.at("weights").shape[0];
  EXPECT_THAT(refusal(reshaped(file, "weights", {q, 0})), HasSubstr("'weights' has the shape [3, 0], expected [q, 1]"));
  ModelFile none = reshaped(reshaped(file, "intercept", {0, 1}), "noise", {0, 1});
  none = reshaped(none, "target_mean", {0, 1});
  EXPECT_THAT(refusal(none), HasSubstr("'intercept' has the shape [0, 1], expected [p, 1]"));
  const Index packed = file.tensors.at("precision_root.0").shape[0];
  EXPECT_THAT(refusal(reshaped(file, "precision_root.0", {1, packed})), HasSubstr("expected [packed(2 M r), 1]"));
}

// JSON has one kind of number; ours are integers of a size.
TEST(TensorTable, NumbersOfTextsMustFitTheirPlace) {
  for (const auto& [kind, file] : examples()) {
    const bool mixture = file.texts.contains("mixture");
    const std::string text = mixture ? "mixture" : "description";
    const auto with = [&](const char* pointer, const nlohmann::json& value) {
      nlohmann::json json = nlohmann::json::parse(file.texts.at(text));
      json[nlohmann::json::json_pointer(pointer)] = value;
      ModelFile changed = file;
      changed.texts[text] = json.dump();
      return refusal(changed);
    };
    for (const char* place : {"/fit/n_components", "/fit/seed", "/fit/rows", "/fit/report/iterations"}) {
      const std::string name = std::filesystem::path(place).filename();
      EXPECT_THAT(with(place, 1e308), HasSubstr("'" + name + "' must be an integer")) << kind;
      EXPECT_THAT(with(place, 1.5), HasSubstr("'" + name + "' must be an integer")) << kind;
      EXPECT_NE(with(place, -1), "") << kind << place;
    }
    EXPECT_THAT(with("/fit/rows", std::uint64_t(1) << 63), HasSubstr("'rows' is out of range")) << kind;
    if (!mixture) continue;
    EXPECT_THAT(with("/draws", 1e308), HasSubstr("'draws' must be an integer"));
  }
}

// Rows of the tables of the page: name, type, shape.
std::vector<std::array<std::string, 3>> documented() {
  const auto page = std::filesystem::path(__FILE__).parent_path() / "../../docs/model-file.md";
  std::ifstream in(page);
  EXPECT_TRUE(in.good()) << page;
  std::vector<std::array<std::string, 3>> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string before, name, type, shape;
    std::getline(cells, before, '|'), std::getline(cells, name, '|'), std::getline(cells, type, '|');
    std::getline(cells, shape, '|');
    if (!name.starts_with(" `") || !(type == " T " || type == " F64 ")) continue;
    const auto inner = [](const std::string& text, std::size_t skip) {
      return text.substr(skip, text.size() - 2 * skip);
    };
    rows.push_back({inner(name, 2), inner(type, 1), inner(shape, 2)});
  }
  return rows;
}

TEST(TensorTable, ThePageListsWhatTheCodeHas) {
  std::vector<std::array<std::string, 3>> expected;
  for (const auto table : {kernel_machine_tensors(), spectral_mixture_tensors()}) {
    for (const TensorRow& row : table) expected.push_back({row.name, row.type, row.shape});
  }
  EXPECT_EQ(documented(), expected);
}

}  // namespace
}  // namespace carmina::tensor_table_test
