// fuzz/models.cpp -- model files: loaded, asked for everything that they can answer, saved and loaded again.
#include "fuzz/small_models.hpp"
#include "fuzz/targets.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/model_inputs.hpp>
#include <carmina/models/onnx.hpp>
#include <carmina/models/predictor.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace carmina::fuzz {
namespace {

const std::string source = "m";

// f's answer, an array without numbers where it is an Error.
template <class F>
Matrix<double> answer(const F& f, const char* what) {
  try {
    const Matrix<double> found = f();
    expect(found.allFinite(), what);
    return found;
  } catch (const Error& error) {
    expect_readable(error.what());
    return {};
  }
}

Execution alone() {
  Execution execution;
  execution.threads = 1;
  return execution;
}

// Rows near 0, near 1 and far away.
Matrix<double> rows_for(const Predictor& model) {
  return Matrix<double>::NullaryExpr(3, model.dim_in(), [](Index i, Index j) {
    return i == 2 ? 1e6 : static_cast<double>(i) + 0.25 * static_cast<double>(j);
  });
}

void ask(const Predictor& model) {
  const Matrix<double> X = rows_for(model);
  const auto p = model.dim_out();
  const auto means = answer([&] { return model.predict(X, alone()); }, "a prediction is not finite");
  expect(means.size() == 0 || (means.rows() == 3 && means.cols() == p), "another number of predictions");
  const Matrix<float> narrow = X.cast<float>();
  answer([&]() -> Matrix<double> { return model.predict(narrow, alone()).cast<double>(); },
         "a prediction in float is not finite");
  expect(static_cast<Index>(model.output_names().size()) == p, "another number of names");
  if (model.why_no_std().empty()) {
    answer([&] { return model.predict_std(X, alone()); }, "a deviation is not finite");
  }
  if (model.why_no_interval().empty()) {
    // Infinite where the rows were too few.
    const auto ends = [&]() -> Matrix<double> {
      const Matrix<double> interval = model.predict_interval(X, 0.9, true, alone());
      return interval.unaryExpr([](double x) { return std::isinf(x) ? 0.0 : x; });
    };
    answer(ends, "an end of an interval is no number");
  }
  if (model.why_no_probabilities().empty()) {
    answer([&] { return model.predict_probabilities(X, alone()); }, "a probability is not finite");
  }
}

// The same model for other programs: some bytes, or a reason.
void convert(const Predictor& model) {
  constexpr Index most = 4096;  // larger ones take seconds to factor
  if (model.dim_in() > most || model.dim_out() > most) return;
  try {
    expect(!to_onnx(model).empty(), "an empty ONNX model");
  } catch (const Error& error) {
    expect_readable(error.what());
  }
}

// What is derived from it, as far as its kernel has it.
void ask_derivatives(const Predictor& model) {
  for (const std::string& name : derived_names()) {
    try {
      model.derive(parse_derived(name), rows_for(model), alone());
    } catch (const Error& error) {
      expect_readable(error.what());
    }
  }
}

// Each term of a kernel machine's sum.
void ask_parts(const Predictor& model) {
  if (!model.kernel_machine()) return;
  std::visit(
      [&]<class M>(const KernelMachine<M>& machine) {
        try {
          machine.predict_parts(Matrix<M>(rows_for(model).cast<M>()), alone());
        } catch (const Error& error) {
          expect_readable(error.what());
        }
      },
      *model.kernel_machine());
}

ModelFile saved(const Predictor& model) {
  const auto* mixture = model.spectral_mixture();
  ModelFile file = mixture ? mixture->to_file()
                           : std::visit([](const auto& machine) { return machine.to_file(); }, *model.kernel_machine());
  if (model.encoder()) put_encoder(file, *model.encoder());
  return file;
}

// What was saved loads, and predicts the same.
void save_and_load(const Predictor& model) {
  const Predictor again = Predictor::from_file(decode_model(encode_model(saved(model)), source), source);
  const Matrix<double> X = rows_for(model);
  const auto before = answer([&] { return model.predict(X, alone()); }, "");
  const auto after = answer([&] { return again.predict(X, alone()); }, "");
  expect(before.rows() == after.rows() && before == after, "the saved model predicts something else");
}

void check_file(const std::function<ModelFile()>& read) {
  std::optional<Predictor> model;
  try {
    model = Predictor::from_file(read(), source);
    expect(model->dim_in() > 0 && model->dim_out() > 0, "a model without inputs or outputs");
  } catch (const Error& error) {
    return expect_readable(error.what());
  }
  if (model->dim_in() > 100'000) return;  // an array without rows: three rows for it would take long
  ask(*model);
  ask_parts(*model);
  ask_derivatives(*model);
  convert(*model);
  try {
    save_and_load(*model);
  } catch (const Error&) {
    throw Finding("a model that was loaded cannot be saved and loaded again");
  }
}

std::vector<std::byte> as_bytes(Bytes bytes) {
  std::vector<std::byte> out(bytes.size());
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

void run_model(Bytes bytes) {
  check_file([&] { return decode_model(as_bytes(bytes), source); });
}

// The file's layout alone: no kind of model stands in the way.
void run_header(Bytes bytes) {
  try {
    const ModelFile file = decode_model(as_bytes(bytes), source);
    const ModelFile again = decode_model(encode_model(file), source);
    expect(again.texts == file.texts && again.tensors.size() == file.tensors.size(), "another file when written again");
    for (const auto& [name, tensor] : file.tensors) {
      expect(again.tensors.at(name).bytes == tensor.bytes, "another array when written again");
      try {
        file.get<double>(name);
      } catch (const Error& error) {
        expect_readable(error.what());
      }
    }
  } catch (const Error& error) {
    expect_readable(error.what());
  }
}

// The first byte chooses a model, the second a part of its description, which the rest then is: the kernel, the record
// of the fit, or all of it.
void run_description(Bytes bytes) {
  if (bytes.size() < 2) return;
  const auto& models = small_models();
  ModelFile file = models[bytes[0] % models.size()].second;
  std::string& text = file.texts[file.texts.contains("mixture") ? "mixture" : "description"];
  const char* part = bytes[1] % 3 == 0 ? "kernel" : bytes[1] % 3 == 1 ? "fit" : nullptr;
  const std::string given(text_of(bytes.subspan(2)));
  nlohmann::json json = nlohmann::json::parse(text);
  if (!part || !json.contains(part)) {
    text = given;
  } else {
    json[part] = nullptr;
    text = json.dump();
    const std::string null = "\"" + std::string(part) + "\":null";
    text.replace(text.find(null) + null.size() - 4, 4, given);
  }
  check_file([&] { return file; });
}

}  // namespace carmina::fuzz
