// cli/info.cpp -- `carmina info`: what a model file holds and how it was fitted.
#include <algorithm>
#include <carmina/models/evaluation.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "console.hpp"
#include "kernel_text.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

using Json = nlohmann::ordered_json;

Json describe(const Kernel& kernel) {
  Json terms = Json::array();
  for (const Term& term : kernel.terms()) {
    Json about = {{"weight", term.weight},
                  {"operator", coupling_name(term.coupling)},
                  {"name", kernel_name(term.scalar)},
                  {"length_scale", length_scale_values(term.scalar)},
                  {"parameters", kernel_parameters(term.scalar)}};
    if (has_bounded_features(term.coupling)) about["bounded"] = true;
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
      about["output_matrix"] = Json::array();
      for (const auto& row : matrix->A().rowwise()) {
        about["output_matrix"].push_back(std::vector<double>(row.begin(), row.end()));
      }
    }
    terms.push_back(std::move(about));
  }
  return terms;
}

// Everything there is to tell.
template <Real T>
Json describe(const KernelMachine<T>& machine, const std::string& path) {
  const FitRecord& record = machine.record();
  Json seconds = Json::object();
  for (const auto& [phase, spent] : record.report.seconds) seconds[phase] = seconds.value(phase, 0.0) + spent;
  return {{"file", path},
          {"bytes", std::filesystem::file_size(path)},
          {"type", "kernel_machine"},
          {"precision", sizeof(T) == 4 ? "float32" : "float64"},
          {"kernel", describe(machine.kernel())},
          {"approximation", record.approximation},
          {"n_features", machine.coefficients().rows()},
          {"n_inputs", machine.dim_in()},
          {"n_targets", record.joint_quantiles ? 1 : machine.dim_out()},
          {"n_outputs", machine.dim_out()},
          {"input_names", record.input_names},
          {"target_names", record.target_names},
          {"output_names", output_names(record, machine.dim_out())},
          {"fit",
           {{"rows", record.rows},
            {"loss", loss_name(record.loss)},
            {"loss_parameters", loss_parameters(record.loss)},
            {"joint_quantiles", record.joint_quantiles},
            {"non_crossing", record.non_crossing},
            {"sketch_parameters", record.sketch},
            {"alpha", record.alpha},
            {"evidence", record.evidence ? Json(*record.evidence) : Json()},
            {"seed", record.seed},
            {"sampling", sampling_name(record.sampling)},
            {"fit_intercept", record.fit_intercept},
            {"scale_inputs", record.scale_inputs},
            {"fill_missing", record.fill_missing},
            {"solver", record.report.solver},
            {"reason", record.report.reason},
            {"memory", record.report.memory},
            {"converged", record.report.status == SolveStatus::converged},
            {"iterations", record.report.iterations},
            {"residual", record.report.residual},
            {"message", record.report.message},
            {"seconds", seconds}}}};
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

void print_lines(const Json& about, const Kernel& kernel, const std::string& loss) {
  const auto line = [](const char* what, const std::string& text) { print_text("{:<14} {}\n", what, text); };
  const Json& fit = about["fit"];
  line("file", format_text("{} ({})", about["file"].get<std::string>(), format_bytes(about["bytes"].get<double>())));
  line("type", format_text("kernel machine, {}", about["precision"].get<std::string>()));
  const char* what = "kernel";  // further terms stand below the first
  for (const Term& term : kernel.terms()) {
    const auto* matrix = std::get_if<OutputMatrix>(&term.coupling);
    const std::string width = length_scale_text(term);
    line(what,
         format_text("{}{}{}{}", kernel_text(term), width.empty() ? "" : ", length scale ", width,
                     matrix ? format_text(", output matrix {} x {}", matrix->A().rows(), matrix->A().rows()) : ""));
    what = "  +";
  }
  line("approximation",
       format_text("{}, {} features", about["approximation"].get<std::string>(), about["n_features"].get<Index>()));
  line("inputs", std::to_string(about["n_inputs"].get<Index>()) + names_behind(about["input_names"]));
  line("targets", std::to_string(about["n_targets"].get<Index>()) + names_behind(about["target_names"]));
  if (fit["joint_quantiles"]) {
    line("quantiles", format_text("{}{}, {}", about["n_outputs"].get<Index>(), names_behind(about["output_names"]),
                                  fit["non_crossing"] ? "put in order" : "may cross"));
  }
  line("inputs are", format_text("{}, missing ones {}", fit["scale_inputs"] ? "scaled" : "taken as they are",
                                 fit["fill_missing"] ? "filled with the training mean" : "refused"));
  line("fitted to", format_text("{}, {} loss, alpha {:.6g}, seed {}, {}", counted(fit["rows"].get<Index>(), "row"),
                                loss, fit["alpha"].get<double>(), fit["seed"].get<std::uint64_t>(),
                                fit["fit_intercept"] ? "with an intercept" : "without an intercept"));
  line("solver", format_text("{}, {}, residual {:.3g}{}", fit["solver"].get<std::string>(),
                             counted(fit["iterations"].get<Index>(), "iteration"), fit["residual"].get<double>(),
                             fit["converged"] ? "" : ", not converged"));
  if (!fit["reason"].get<std::string>().empty()) line("chosen", fit["reason"].get<std::string>());
  if (!fit["memory"].get<std::string>().empty()) line("memory", fit["memory"].get<std::string>());
  if (!fit["message"].get<std::string>().empty()) line("warning", fit["message"].get<std::string>());
  std::string times;
  for (const auto& [phase, spent] : fit["seconds"].items()) {
    times += format_text("{}{} {}", times.empty() ? "" : ", ", phase, format_seconds(spent.get<double>()));
  }
  line("time", times);
}

struct InfoCommand {
  std::string model;
  bool json = false;

  void run() const {
    std::visit(
        [&](const auto& machine) {
          const Json about = describe(machine, model);
          if (!json) return print_lines(about, machine.kernel(), loss_text(machine.record().loss));
          print_text("{}\n", about.dump(2, ' ', false, Json::error_handler_t::replace));
        },
        load_kernel_machine(model));
  }
};

}  // namespace

void add_info(CLI::App& program) {
  auto* command = program.add_subcommand("info", "Tell what a model is and how it was fitted");
  command->footer("Example: carmina info wind.safetensors --json");
  auto it = std::make_shared<InfoCommand>();
  command->add_option("MODEL", it->model, "A model file")->required()->type_name("FILE");
  command->add_flag("--json", it->json, "Print JSON");
  command->callback([it] { it->run(); });
}

}  // namespace carmina::cli
