// cli/info.cpp -- `carmina info`: what a model file holds and how it was fitted.
#include <algorithm>
#include <carmina/core/machine.hpp>
#include <carmina/kernels/parse_kernel.hpp>
#include <carmina/models/predictor.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include "solvers/evidence/fourier_evidence.hpp"

#include "commands.hpp"
#include "console.hpp"
#include "kernel_text.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

using Json = nlohmann::ordered_json;

// A matrix as a list of rows.
Json rows_of(const Matrix<double>& values) {
  Json rows = Json::array();
  for (const auto& row : values.rowwise()) rows.push_back(std::vector<double>(row.begin(), row.end()));
  return rows;
}

Json describe(const Kernel& kernel) {
  Json terms = Json::array();
  for (const Term& term : kernel.terms()) {
    Json about = {{"weight", term.weight},
                  {"expression", kernel_expression(Kernel(term))},
                  {"operator", coupling_name(term.coupling)},
                  {"name", kernel_name(term.scalar)},
                  {"length_scale", length_scale_values(term.scalar)},
                  {"parameters", kernel_parameters(term.scalar)}};
    if (has_bounded_features(term.coupling)) about["bounded"] = true;
    if (is_normalized(term.coupling)) about["normalized"] = true;
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
      about["output_matrix"] = rows_of(matrix->A());
    }
    terms.push_back(std::move(about));
  }
  return terms;
}

// What the model itself is, by its kind.
Json describe(const KernelMachine<float>& machine) { return describe(machine.kernel()); }
Json describe(const KernelMachine<double>& machine) { return describe(machine.kernel()); }
Json describe(const SpectralMixtureMachine& machine) {
  const SpectralParameters& at = machine.parameters();
  const auto list = [](const auto& values) { return std::vector<double>(values.begin(), values.end()); };
  return {{"family", family_name(at.mixture.family)},
          {"trend", trend_name(machine.trend())},
          {"weights", list(at.mixture.weights)},
          {"means", rows_of(at.mixture.means)},
          {"scales", rows_of(at.mixture.scales)},
          {"noise", list(at.noise)},
          {"outputs", coupling_name(machine.options().coupling)},
          {"start_evidences", machine.start_evidences()}};
}

Index features_of(const Predictor& model) {
  if (const auto* mixture = model.spectral_mixture()) {
    return mixture->inference() == Inference::fourier ? mixture->points().front().dim_coef() : 0;
  }
  return std::visit([](const auto& machine) { return machine.coefficients().rows(); }, *model.kernel_machine());
}

// Everything there is to tell.
Json describe(const Predictor& model, const std::string& path) {
  const FitRecord& record = model.record();
  Json seconds = Json::object();
  for (const auto& [phase, spent] : record.report.seconds) seconds[phase] = seconds.value(phase, 0.0) + spent;
  Json about = {{"file", path},
                {"bytes", std::filesystem::file_size(path)},
                {"type", model.kind()},
                {"precision", model.precision()}};
  if (const auto* mixture = model.spectral_mixture()) {
    about["mixture"] = describe(*mixture);
  } else {
    about["kernel"] = std::visit([](const auto& machine) { return describe(machine); }, *model.kernel_machine());
  }
  about.update({{"approximation", record.approximation},
                {"n_features", features_of(model)},
                {"n_inputs", model.dim_in()},
                {"n_targets", record.joint_quantiles ? 1 : model.dim_out()},
                {"n_outputs", model.dim_out()},
                {"input_names", record.input_names},
                {"target_names", record.target_names},
                {"output_names", model.output_names()},
                {"fit",
                 {{"rows", record.rows},
                  {"loss", loss_name(record.loss)},
                  {"loss_parameters", loss_parameters(record.loss)},
                  {"joint_quantiles", record.joint_quantiles},
                  {"non_crossing", record.non_crossing},
                  {"sketch_parameters", record.sketch},
                  {"alpha", record.alpha},
                  {"evidence", record.evidence ? Json(*record.evidence) : Json()},
                  {"noise", std::vector<double>(record.noise.begin(), record.noise.end())},
                  {"deviations", model.why_no_std().empty()},
                  {"intervals", model.why_no_interval().empty()},
                  {"seed", record.seed},
                  {"sampling", sampling_name(record.sampling)},
                  {"fit_intercept", record.fit_intercept},
                  {"scale_inputs", record.scale_inputs},
                  {"fill_missing", record.fill_missing},
                  {"solver", record.report.solver},
                  {"reason", record.report.reason},
                  {"memory", record.report.memory},
                  {"device", record.report.device},
                  {"converged", record.report.status == SolveStatus::converged},
                  {"iterations", record.report.iterations},
                  {"residual", record.report.residual},
                  {"message", record.report.message},
                  {"seconds", seconds}}}});
  return about;
}

std::string names_behind(const Json& names) {
  if (names.empty()) return "";
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += format_text("{}{}", i == 0 ? "" : ", ", names[i].get<std::string>());
  }
  if (names.size() > most) text += format_text(" and {} more", names.size() - most);
  return format_text(" ({})", text);
}

void line(const char* what, const std::string& text) { print_text("{:<14} {}\n", what, text); }

void print_kernel(const Kernel& kernel) {
  const char* what = "kernel";  // further terms stand below the first
  for (const Term& term : kernel.terms()) {
    const auto* matrix = std::get_if<OutputMatrix>(&term.coupling);
    const std::string width = length_scale_text(term);
    line(what,
         format_text("{}{}{}{}", kernel_text(term), width.empty() ? "" : ", length scale ", width,
                     matrix ? format_text(", output matrix {} x {}", matrix->A().rows(), matrix->A().rows()) : ""));
    what = "  +";
  }
}

// The variance of each output, and what the model can say of its predictions.
void print_noise(const Vector<double>& variances, const std::string& known) {
  std::string noise;
  for (const double one : variances) noise += format_text("{}{:.6g}", noise.empty() ? "" : ", ", one);
  line("noise", format_text("variance {}{}", noise, known));
}

// Components of the largest weights, frequencies in cycles.
void print_mixture(const SpectralMixtureMachine& machine) {
  constexpr Index most = 8;
  const SpectralParameters& at = machine.parameters();
  const Mixture& mixture = at.mixture;
  std::vector<Index> order(static_cast<std::size_t>(mixture.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return mixture.weights[a] > mixture.weights[b]; });
  const auto numbers = [](const auto& row) {
    std::string text;
    for (Index j = 0; j < std::min<Index>(row.size(), 4); ++j) {
      text += format_text("{}{:.4g}", j == 0 ? "" : ", ", std::abs(row[j]));
    }
    return row.size() > 4 ? text + ", ..." : text;
  };
  line("kernel", format_text("spectral mixture, {}, family {}", counted(mixture.size(), "component"),
                             family_name(mixture.family)));
  for (Index k = 0; k < std::min(most, mixture.size()); ++k) {
    const Index q = order[static_cast<std::size_t>(k)];
    line(k == 0 ? "  strongest" : "", format_text("weight {:.4g}, frequency {}, width {}", mixture.weights[q],
                                                  numbers(mixture.means.row(q)), numbers(mixture.scales.row(q))));
  }
  if (machine.trend() == Trend::linear) line("trend", "a line beside the mixture, integrated out with it");
  if (!machine.report().text.empty()) line("series", machine.report().text);
  print_noise(at.noise, "");
}

void print_about(const Json& about, const Predictor& model) {
  const Json& fit = about["fit"];
  const FitRecord& record = model.record();
  const SpectralMixtureMachine* mixture = model.spectral_mixture();
  line("file", format_text("{} ({})", about["file"].get<std::string>(), format_bytes(about["bytes"].get<double>())));
  line("type", format_text("{}, {}", mixture ? "spectral mixture" : "kernel machine", model.precision()));
  if (mixture) {
    print_mixture(*mixture);
  } else {
    std::visit([](const auto& machine) { print_kernel(machine.kernel()); }, *model.kernel_machine());
  }
  const auto features = about["n_features"].get<Index>();
  line(mixture ? "inference" : "approximation",
       features > 0 ? format_text("{}, {} features", record.approximation, features) : record.approximation);
  line("inputs", std::to_string(about["n_inputs"].get<Index>()) + names_behind(about["input_names"]));
  line("targets", std::to_string(about["n_targets"].get<Index>()) + names_behind(about["target_names"]));
  if (record.joint_quantiles) {
    line("quantiles", format_text("{}{}, {}", about["n_outputs"].get<Index>(), names_behind(about["output_names"]),
                                  record.non_crossing ? "put in order" : "may cross"));
  }
  line("inputs are", format_text("{}, missing ones {}", record.scale_inputs ? "scaled" : "taken as they are",
                                 record.fill_missing ? "filled with the training mean" : "refused"));
  line("fitted to", format_text("{}, {}, seed {}, {}", counted(record.rows, "row"),
                                mixture ? format_text("log evidence {:.6g}", mixture->log_marginal_likelihood())
                                        : format_text("{} loss, alpha {:.6g}", loss_text(record.loss), record.alpha),
                                record.seed, record.fit_intercept ? "with an intercept" : "without an intercept"));
  if (!mixture && record.noise.size() > 0) {
    print_noise(record.noise, model.why_no_interval().empty() ? "; deviations and intervals are known"
                              : model.why_no_std().empty()    ? "; deviations are known"
                                                              : "");
  }
  line("solver", format_text("{}, {}{}{}", record.report.solver, counted(record.report.iterations, "iteration"),
                             mixture ? "" : format_text(", residual {:.3g}", record.report.residual),
                             record.report.status == SolveStatus::converged ? "" : ", not converged"));
  if (!record.report.reason.empty()) line("chosen", record.report.reason);
  if (!record.report.memory.empty()) line("memory", record.report.memory);
  if (!record.report.device.empty()) line("device", record.report.device);
  if (!record.report.message.empty()) line("warning", record.report.message);
  std::string times;
  for (const auto& [phase, spent] : fit["seconds"].items()) {
    times += format_text("{}{} {}", times.empty() ? "" : ", ", phase, format_seconds(spent.get<double>()));
  }
  line("time", times);
}

void print_machine(bool json) {
  const Machine it = describe_machine();
  const bool limited = std::isfinite(it.quota);
  if (json) {
    const Json about = {{"processor", it.processor},
                        {"instructions", it.instructions},
                        {"threads", it.threads},
                        {"quota", limited ? Json(it.quota) : Json()},
                        {"float_products", it.float_products},
                        {"float_limit", it.float_limit},
                        {"double_products", it.double_products},
                        {"double_limit", it.double_limit}};
    return print_text("{}\n", about.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  const auto rate = [](const char* what, double products, double limit) {
    line(what, format_text("{:.0f} GFLOP/s in one thread, {:.0f} % of what its instructions give", products,
                           100 * products / limit));
  };
  line("processor", it.processor);
  line("instructions", it.instructions);
  line("threads", format_text("{}{}", it.threads, limited ? format_text(", of a quota of {:.3g}", it.quota) : ""));
  rate("float", it.float_products, it.float_limit);
  rate("double", it.double_products, it.double_limit);
}

struct InfoCommand {
  std::string model;
  bool json = false, machine = false;

  void run() const {
    if (machine) return print_machine(json);
    if (model.empty()) throw CLI::RequiredError("MODEL");
    const Predictor predictor = Predictor::load(model);
    const Json about = describe(predictor, model);
    if (!json) return print_about(about, predictor);
    print_text("{}\n", about.dump(2, ' ', false, Json::error_handler_t::replace));
  }
};

}  // namespace

void add_info(CLI::App& program) {
  auto* command = program.add_subcommand("info", "Tell what a model is and how it was fitted");
  command->footer("Example: carmina info wind.safetensors --json");
  auto it = std::make_shared<InfoCommand>();
  auto* model = command->add_option("MODEL", it->model, "A model file")->type_name("FILE");
  command->add_flag("--machine", it->machine, "Tell what was found of this machine, and how fast its products are")
      ->excludes(model);
  command->add_flag("--json", it->json, "Print JSON");
  run_when_parsed(*command, it);
}

}  // namespace carmina::cli
