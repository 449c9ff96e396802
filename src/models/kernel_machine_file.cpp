// models/kernel_machine_file.cpp -- a kernel machine to and from its file: arrays as tensors, the rest as one JSON
// text.
#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>

#include <nlohmann/json.hpp>

namespace carmina {
namespace {

using Json = nlohmann::json;

template <Real T>
constexpr const char* precision_name = std::same_as<T, float> ? "float32" : "float64";

Json to_json(const ScalarKernel& kernel) {
  return {{"name", kernel_name(kernel)}, {"length_scale", length_scale(kernel).values()}};
}

ScalarKernel scalar_kernel_from(const Json& json) {
  return make_scalar_kernel(json.at("name").get<std::string>(), json.at("length_scale").get<std::vector<double>>());
}

Json to_json(const FitRecord& record) {
  Json seconds = Json::array();
  for (const auto& [phase, spent] : record.report.seconds) seconds.push_back({phase, spent});
  return {{"approximation", record.approximation},
          {"n_components", record.n_components},
          {"alpha", record.alpha},
          {"fit_intercept", record.fit_intercept},
          {"scale_inputs", record.scale_inputs},
          {"fill_missing", record.fill_missing},
          {"seed", record.seed},
          {"rows", record.rows},
          {"input_names", record.input_names},
          {"target_names", record.target_names},
          {"report",
           {{"solver", record.report.solver},
            {"converged", record.report.status == SolveStatus::converged},
            {"iterations", record.report.iterations},
            {"residual", record.report.residual},
            {"message", record.report.message},
            {"seconds", seconds}}}};
}

FitRecord record_from(const Json& json) {
  FitRecord record;
  json.at("approximation").get_to(record.approximation);
  json.at("n_components").get_to(record.n_components);
  json.at("alpha").get_to(record.alpha);
  json.at("fit_intercept").get_to(record.fit_intercept);
  json.at("scale_inputs").get_to(record.scale_inputs);
  json.at("fill_missing").get_to(record.fill_missing);
  json.at("seed").get_to(record.seed);
  json.at("rows").get_to(record.rows);
  json.at("input_names").get_to(record.input_names);
  json.at("target_names").get_to(record.target_names);
  const Json& report = json.at("report");
  report.at("solver").get_to(record.report.solver);
  record.report.status = report.at("converged").get<bool>() ? SolveStatus::converged : SolveStatus::not_converged;
  report.at("iterations").get_to(record.report.iterations);
  report.at("residual").get_to(record.report.residual);
  report.at("message").get_to(record.report.message);
  report.at("seconds").get_to(record.report.seconds);
  return record;
}

void put_vector(ModelFile& file, const std::string& name, const Vector<double>& values) {
  if (values.size() > 0) file.put<double>(name, Matrix<double>(values));
}

Vector<double> get_vector(const ModelFile& file, const std::string& name, Index size) {
  if (!file.tensors.contains(name)) return {};
  const Vector<double> values = file.get<double>(name).reshaped<Eigen::RowMajor>();
  require(values.size() == size, "'{}' has {} entries, expected {}", name, values.size(), size);
  return values;
}

}  // namespace

template <Real T>
ModelFile KernelMachine<T>::to_file() const {
  ModelFile file;
  Json description = {{"kernel", to_json(scalar_part(kernel_))}, {"fit", to_json(record_)}};
  const InputTransform* transform = nullptr;
  if (const auto* fourier = std::get_if<FourierMap<T>>(&map_)) {
    file.put<T>("frequencies", fourier->frequencies());
    transform = &fourier->transform();
  } else {
    const auto& map = std::get<KernelMap<T>>(map_);
    file.put<T>("anchors", map.anchors());
    transform = &map.transform();
  }
  put_vector(file, "input_shift", transform->shift);
  put_vector(file, "input_factor", transform->factor);
  put_vector(file, "input_fill", transform->fill);
  put_vector(file, "target_mean", record_.target_mean);
  if (const auto* A = output_matrix(kernel_)) file.put<double>("output_matrix", *A);
  if (output_root_.size() > 0) file.put<T>("output_root", output_root_);
  file.put<T>("coefficients", coefficients_);
  file.put<T>("intercept", Matrix<T>(intercept_));
  file.texts["type"] = "kernel_machine";
  file.texts["precision"] = precision_name<T>;
  file.texts["description"] = description.dump();
  return file;
}

template <Real T>
KernelMachine<T> KernelMachine<T>::from_file(const ModelFile& file, const std::string& source) {
  try {
    const Json description = Json::parse(file.text("description"));
    FitRecord record = record_from(description.at("fit"));
    const ScalarKernel scalar = scalar_kernel_from(description.at("kernel"));
    Kernel kernel = std::visit([](auto k) { return Kernel(std::move(k)); }, scalar);
    if (file.tensors.contains("output_matrix")) kernel = Decomposable(scalar, file.get<double>("output_matrix"));
    const bool fourier = file.tensors.contains("frequencies");
    Matrix<T> base = file.get<T>(fourier ? "frequencies" : "anchors");
    const Index d = base.cols();
    InputTransform transform{get_vector(file, "input_shift", d), get_vector(file, "input_factor", d),
                             get_vector(file, "input_fill", d)};
    require(transform.shift.size() == transform.factor.size(), "input_shift and input_factor do not go together");
    const Matrix<T> intercept_column = file.get<T>("intercept");
    const Vector<T> intercept = Eigen::Map<const Vector<T>>(intercept_column.data(), intercept_column.size());
    record.target_mean = get_vector(file, "target_mean", intercept.size());
    Map map = fourier ? Map(FourierMap<T>(std::move(base), std::move(transform)))
                      : Map(KernelMap<T>(scalar, std::move(base), std::move(transform)));
    Matrix<T> root;
    if (file.tensors.contains("output_root")) root = file.get<T>("output_root");
    return KernelMachine(std::move(kernel), std::move(map), file.get<T>("coefficients"), std::move(root), intercept,
                         std::move(record));
  } catch (const Json::exception& error) {
    fail("{}: the model's description is not valid: {}", source, error.what());
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
}

AnyKernelMachine kernel_machine_from_file(const ModelFile& file, const std::string& source) {
  const auto type = file.texts.find("type");
  require(type != file.texts.end() && type->second == "kernel_machine", "{}: not a kernel machine", source);
  const auto precision = file.texts.find("precision");
  if (precision != file.texts.end() && precision->second == precision_name<float>) {
    return KernelMachine<float>::from_file(file, source);
  }
  require(precision != file.texts.end() && precision->second == precision_name<double>, "{}: unknown precision",
          source);
  return KernelMachine<double>::from_file(file, source);
}

AnyKernelMachine load_kernel_machine(const std::string& path) {
  return kernel_machine_from_file(read_model_file(path), path);
}

template ModelFile KernelMachine<float>::to_file() const;
template ModelFile KernelMachine<double>::to_file() const;
template KernelMachine<float> KernelMachine<float>::from_file(const ModelFile&, const std::string&);
template KernelMachine<double> KernelMachine<double>::from_file(const ModelFile&, const std::string&);

}  // namespace carmina
