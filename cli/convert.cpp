// cli/convert.cpp -- `carmina convert`: a model file in, an ONNX file out.
#include <carmina/core/error.hpp>
#include <carmina/models/onnx.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include "core/atomic_file.hpp"

#include "commands.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

struct ConvertCommand {
  std::string model, onnx;
  bool no_std = false;

  void run() const {
    check_output(onnx, {model});
    const ModelFile file = read_model_file(model);
    const Predictor predictor = Predictor::from_file(file, model);
    OnnxOptions options;
    options.deviations = !no_std;
    options.labels = labels_of(file);
    std::string bytes;
    try {
      bytes = to_onnx(predictor, options);
    } catch (const Error& error) {
      fail("{}: {}", model, error.what());
    }
    AtomicFile out(onnx);
    out.write(bytes.data(), bytes.size());
    out.commit();
    print_text("wrote {} ({}); {}\n", onnx, format_bytes(static_cast<double>(bytes.size())), inputs_of(predictor));
  }

 private:
  // Of a classifier that Python wrote: its labels are in the description of the estimator.
  decltype(OnnxOptions::labels) labels_of(const ModelFile& file) const {
    using Json = nlohmann::json;
    const auto text = file.texts.find("estimator");
    if (text == file.texts.end()) return {};
    const Json about = Json::parse(text->second, nullptr, false);
    const Json classes = about.is_object() ? about.value("classes", Json()) : Json();
    if (!classes.is_array() || classes.empty()) return {};
    std::vector<std::string> texts;
    std::vector<std::int64_t> integers;
    for (const Json& label : classes) {
      if (label.is_string()) {
        texts.push_back(label.get<std::string>());
      } else if (label.is_boolean()) {
        integers.push_back(label.get<bool>());
      } else {
        const bool whole = label.is_number_integer() ||
                           (label.is_number_float() &&
                            label.get<double>() == static_cast<double>(static_cast<std::int64_t>(label.get<double>())));
        require(whole, "{}: labels must be texts or integers, found {}", model, label.dump());
        integers.push_back(label.get<std::int64_t>());
      }
    }
    if (texts.size() == classes.size()) return texts;
    require(integers.size() == classes.size(), "{}: labels must be all texts or all integers", model);
    return integers;
  }

  static std::string inputs_of(const Predictor& predictor) {
    if (!predictor.encoder() || predictor.encoder()->takes_numbers()) {
      return format_text("input X of {} columns", predictor.row_length());
    }
    return format_text("inputs {}", join_text(predictor.encoder()->input_names(), ", "));
  }
};

}  // namespace

void add_convert(CLI::App& program) {
  auto* command = program.add_subcommand("convert", "Write a model as an ONNX file, which other programs predict with");
  command->footer("Example: carmina convert wind.safetensors --onnx wind.onnx");
  auto it = std::make_shared<ConvertCommand>();
  command->add_option("MODEL", it->model, "A model file")->required()->type_name("FILE");
  command->add_option("--onnx", it->onnx, "The ONNX file to write: opset 17, in double")->required()->type_name("FILE");
  command->add_flag("--no-std", it->no_std, "Leave out deviations, which take the square of the features");
  run_when_parsed(*command, it);
}

}  // namespace carmina::cli
