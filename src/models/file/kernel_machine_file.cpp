// models/file/kernel_machine_file.cpp -- a kernel machine to and from its file: arrays as tensors, the rest as one JSON
// text.
#include "data/cells.hpp"
#include "features/sample_map.hpp"
#include "models/file/fit_record_json.hpp"
#include "models/file/json_fields.hpp"
#include "models/file/kernel_json.hpp"
#include "models/file/moments_file.hpp"
#include "models/file/tensor_table.hpp"
#include "models/machine/machine_map.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/posterior.hpp>

namespace carmina {
namespace {

using Json = nlohmann::json;

template <Real T>
constexpr const char* precision_name = std::same_as<T, float> ? "float32" : "float64";
template <Real T>
constexpr const char* precision_type = std::same_as<T, float> ? "F32" : "F64";

SpectralMixture get_mixture(const ModelFile& file, std::size_t i, const std::string& family) {
  const auto array = [&](const char* what) { return file.get<double>(format_text("mixture_{}.{}", what, i)); };
  return SpectralMixture(array("weights").reshaped<Eigen::RowMajor>(), array("means"), array("scales"), family);
}

// By name and numbers, as the program makes kernels: their constructors check what they are given.
ScalarKernel named_kernel(const Json& json) {
  const auto widths = json.at("length_scale").get<std::vector<double>>();
  ScalarKernel scalar = make_scalar_kernel(json.at("name").get<std::string>(),
                                           widths.empty() ? std::nullopt : std::optional<LengthScale>(widths),
                                           json.at("parameters").get<KernelParameters>());
  require((width_of(scalar) != nullptr) != widths.empty(), "the {} kernel has {} length scales", kernel_name(scalar),
          widths.size());
  return scalar;
}

Matrix<double> matrix_from(const Json& json) {
  const auto rows = json.get<std::vector<std::vector<double>>>();
  Matrix<double> out(static_cast<Index>(rows.size()), rows.empty() ? 0 : static_cast<Index>(rows[0].size()));
  for (Index i = 0; i < out.rows(); ++i) {
    const std::vector<double>& row = rows[static_cast<std::size_t>(i)];
    require(static_cast<Index>(row.size()) == out.cols(), "a mixture's component has {} numbers, expected {}",
            row.size(), out.cols());
    out.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), out.cols());
  }
  return out;
}

Product product_from(const Json& json) {
  std::vector<Product::Factor> factors;
  for (const Json& one : json) {
    std::vector<Index> numbers;
    get_value(one, "columns", numbers);
    const InputColumns columns(std::move(numbers));
    if (one.at("name").get<std::string>() == SpectralMixture::name) {
      const auto weights = one.at("weights").get<std::vector<double>>();
      factors.push_back({SpectralMixture(Eigen::Map<const Vector<double>>(weights.data(), std::ssize(weights)),
                                         matrix_from(one.at("means")), matrix_from(one.at("scales")),
                                         one.at("family").get<std::string>()),
                         columns});
    } else {
      factors.push_back({named_kernel(one), columns});
    }
  }
  return Product(std::move(factors));
}

Kernel kernel_from(const Json& json, const ModelFile& file) {
  std::vector<Term> terms;
  for (const Json& term : json) {
    const auto coupling = term.at("coupling").get<std::string>();
    const auto name = term.at("name").get<std::string>();
    ScalarKernel scalar = name == SpectralMixture::name
                              ? ScalarKernel(get_mixture(file, terms.size(), term.at("family").get<std::string>()))
                          : name == Product::name ? ScalarKernel(product_from(term.at("factors")))
                                                  : named_kernel(term);
    const auto weight = term.at("weight").get<double>();
    if (coupling == "matrix") {
      const auto matrix = format_text("output_matrix.{}", terms.size());
      terms.push_back({weight, std::move(scalar), OutputMatrix(file.get<double>(matrix))});
    } else {
      terms.push_back({weight, std::move(scalar),
                       parse_coupling(coupling, term.value("bounded", false), term.value("normalized", false))});
    }
  }
  return Kernel(std::move(terms));
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

// Structured frequencies are their diagonals and lengths; terms have equally many.
template <Real T>
void put_frequencies(ModelFile& file, const FourierMap<T>& map) {
  if (const HadamardFrequencies* structured = map.structured()) {
    file.put<double>("hadamard_diagonals", structured->diagonals);
    put_vector(file, "hadamard_lengths", structured->lengths);
  } else {
    file.put<T>("frequencies", map.frequencies());
    if (map.place().size() > 0) file.put<T>("place_frequencies", map.place());
    if (map.phases().size() > 0) file.put<T>("phases", Matrix<T>(map.phases()));
  }
}

// A first diagonal is zero where the map has no input.
HadamardFrequencies get_structured(const ModelFile& file, const Kernel& kernel) {
  HadamardFrequencies frequencies;
  frequencies.diagonals = file.get<double>("hadamard_diagonals");
  frequencies.lengths = file.get<double>("hadamard_lengths").reshaped<Eigen::RowMajor>();
  frequencies.per_term = frequencies.lengths.size() / static_cast<Index>(kernel.terms().size());
  require(frequencies.diagonals.rows() > 0, "'hadamard_diagonals' is empty");
  frequencies.dim_in = (frequencies.diagonals.row(0).array() != 0).count();
  frequencies.check();
  return frequencies;
}

}  // namespace

template <Real T>
ModelFile KernelMachine<T>::to_file(KernelStorage storage, bool variances) const {
  ModelFile file;
  if (variances) {
    const std::string reason = why_no_deviation(record_);
    require(reason.empty(), "save: {}", reason);
    if (record_.moments) put_moments(file, *record_.moments);
  }
  put_patterns(file, record_, variances);
  Json description = {{"fit", record_to_json(record_)}};
  if (storage == KernelStorage::in_file) {
    require(!made_of_functions(kernel_),
            "a model whose kernel is made of functions (Callable, Spectral, FromSignature) cannot be saved: files hold "
            "numbers, never code");
    description["kernel"] = kernel_to_json(kernel_, file);
  }
  std::visit(
      [&file]<class M>(const M& map) {
        if constexpr (std::same_as<M, FourierMap<T>>) {
          put_frequencies(file, map);
        } else {
          file.put<T>("anchors", map.anchors());
        }
        put_vector(file, "input_shift", map.transform().shift);
        put_vector(file, "input_factor", map.transform().factor);
        put_vector(file, "input_fill", map.transform().fill);
        if (std::isfinite(map.transform().limit)) {
          put_vector(file, "input_limit", Vector<double>::Constant(1, map.transform().limit));
        }
        if (map.transform().metric.size() > 0) file.put<double>("input_metric", map.transform().metric);
      },
      *map_);
  put_vector(file, "target_mean", record_.target_mean);
  put_vector(file, "row_weights", record_.weights);
  put_vector(file, "noise", record_.noise);
  if (record_.left_out.size() > 0) file.put<double>("left_out", record_.left_out);
  if (output_root_.size() > 0) file.put<T>("output_root", output_root_);
  file.put<T>("coefficients", coefficients_);
  file.put<T>("intercept", Matrix<T>(intercept_));
  file.texts["type"] = "kernel_machine";
  file.texts["precision"] = precision_name<T>;
  file.texts["description"] = description.dump();
  check_tensors(file, kernel_machine_tensors(), precision_type<T>);
  return file;
}

template <Real T>
KernelMachine<T> KernelMachine<T>::from_file(const ModelFile& file, const std::string& source,
                                             const std::optional<Kernel>& apart) {
  try {
    check_tensors(file, kernel_machine_tensors(), precision_type<T>);
    const Json description = Json::parse(file.text("description"));
    FitRecord record = record_from_json(description.at("fit"));
    Kernel kernel = apart ? *apart : kernel_from(description.at("kernel"), file);
    const bool structured = file.tensors.contains("hadamard_lengths");
    const bool fourier = structured || file.tensors.contains("frequencies");
    require(!(fourier && record.exact()), "'approximation' is 'exact', yet the file holds frequencies");
    HadamardFrequencies signs;
    if (structured) signs = get_structured(file, kernel);
    Matrix<T> base;
    if (!structured) base = file.get<T>(fourier ? "frequencies" : "anchors");
    const Index d = structured ? signs.dim_in : base.cols();
    InputTransform transform{get_vector(file, "input_shift", d), get_vector(file, "input_factor", d),
                             get_vector(file, "input_fill", d)};
    if (file.tensors.contains("input_limit")) {
      transform.limit = get_vector(file, "input_limit", 1)[0];
      require(transform.limit > 0, "'input_limit' must be positive, found {}", transform.limit);
    }
    if (file.tensors.contains("input_metric")) {
      transform.metric = file.get<double>("input_metric");
    }
    require(transform.shift.size() == transform.factor.size(), "input_shift and input_factor do not go together");
    const Matrix<T> intercept_column = file.get<T>("intercept");
    const Vector<T> intercept = Eigen::Map<const Vector<T>>(intercept_column.data(), intercept_column.size());
    record.target_mean = get_vector(file, "target_mean", intercept.size());
    record.weights = get_vector(file, "row_weights", fourier ? 0 : base.rows());
    require(record.weights.size() == 0 || (record.weights.array() > 0).all(), "'row_weights' must be positive");
    record.noise = get_vector(file, "noise", intercept.size());
    require((record.noise.array() >= 0).all(), "'noise' must not be negative");
    if (file.tensors.contains("left_out")) record.left_out = file.get<double>("left_out");
    kernel.check_dimensions(d, intercept.size());
    check_names(record, d, intercept.size());
    const auto make_map = [&]() -> Map {
      if (structured) return FourierMap<T>(std::move(signs), std::move(transform));
      if (file.tensors.contains("phases")) {
        const Matrix<T> phases = file.get<T>("phases");
        require(kernel.separable() != nullptr, "'phases' do not go with the kernel");
        return FourierMap<T>(std::move(base), phases.template reshaped<Eigen::RowMajor>(), std::move(transform));
      }
      if (fourier) {
        Matrix<T> place;
        if (file.tensors.contains("place_frequencies")) place = file.get<T>("place_frequencies");
        return map_of_frequencies<T>(kernel, std::move(base), std::move(place), std::move(transform));
      }
      if (const Term* term = kernel.separable())
        return KernelMap<T>(term->scalar, std::move(base), std::move(transform));
      return OperatorMap<T>(kernel, std::move(base), intercept.size(), std::move(transform));
    };
    std::shared_ptr<const Map> map = share_map<T>(make_map());
    const Index features = std::visit([](const auto& m) { return m.n_features(); }, *map);
    if (!record.exact()) record.moments = get_moments(file, features, intercept.size(), record.rows);
    record.patterns = get_patterns(file, record, features, intercept.size());
    require(record.patterns.empty() || kernel.separable() != nullptr, "'output_pattern' does not go with the kernel");
    Matrix<T> root;
    if (file.tensors.contains("output_root")) root = file.get<T>("output_root");
    return KernelMachine(std::move(kernel), std::move(map), file.get<T>("coefficients"), std::move(root), intercept,
                         std::move(record));
  } catch (const Json::exception& error) {
    fail("{}: the model's description is not valid: {}", source, data::shown(error.what(), 300));
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
}

AnyKernelMachine kernel_machine_from_file(const ModelFile& file, const std::string& source,
                                          const std::optional<Kernel>& apart) {
  const auto type = file.texts.find("type");
  require(type == file.texts.end() || type->second != "spectral_mixture",
          "{}: a spectral mixture, not a kernel machine; Python's carmina.load and C++'s Predictor read either",
          source);
  require(type != file.texts.end() && type->second == "kernel_machine", "{}: not a kernel machine", source);
  const auto precision = file.texts.find("precision");
  if (precision != file.texts.end() && precision->second == precision_name<float>) {
    return KernelMachine<float>::from_file(file, source, apart);
  }
  require(precision != file.texts.end() && precision->second == precision_name<double>, "{}: unknown precision",
          source);
  return KernelMachine<double>::from_file(file, source, apart);
}

AnyKernelMachine load_kernel_machine(const std::string& path) {
  return kernel_machine_from_file(read_model_file(path), path);
}

template ModelFile KernelMachine<float>::to_file(KernelStorage, bool) const;
template ModelFile KernelMachine<double>::to_file(KernelStorage, bool) const;
template KernelMachine<float> KernelMachine<float>::from_file(const ModelFile&, const std::string&,
                                                              const std::optional<Kernel>&);
template KernelMachine<double> KernelMachine<double>::from_file(const ModelFile&, const std::string&,
                                                                const std::optional<Kernel>&);

}  // namespace carmina
