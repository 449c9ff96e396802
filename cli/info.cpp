// cli/info.cpp -- `carmina info`: what a model file holds and how it was fitted.
#include <carmina/models/kernel_machine.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

using Json = nlohmann::ordered_json;

// Everything there is to tell; the text is made from it.
template <Real T>
Json describe(const KernelMachine<T>& machine, const std::string& path) {
  const FitRecord& record = machine.record();
  const ScalarKernel scalar = scalar_part(machine.kernel());
  Json kernel = {{"name", kernel_name(scalar)}, {"length_scale", length_scale(scalar).values()}};
  if (const auto* A = output_matrix(machine.kernel())) {
    kernel["output_matrix"] = Json::array();
    for (const auto& row : A->rowwise()) kernel["output_matrix"].push_back(std::vector<double>(row.begin(), row.end()));
  }
  Json seconds = Json::object();
  for (const auto& [phase, spent] : record.report.seconds) seconds[phase] = seconds.value(phase, 0.0) + spent;
  return {{"file", path},
          {"bytes", std::filesystem::file_size(path)},
          {"type", "kernel_machine"},
          {"precision", sizeof(T) == 4 ? "float32" : "float64"},
          {"kernel", kernel},
          {"approximation", record.approximation},
          {"n_features", machine.coefficients().rows()},
          {"n_inputs", machine.dim_in()},
          {"n_targets", machine.dim_out()},
          {"input_names", record.input_names},
          {"target_names", record.target_names},
          {"fit",
           {{"rows", record.rows},
            {"loss", "squared"},
            {"alpha", record.alpha},
            {"seed", record.seed},
            {"fit_intercept", record.fit_intercept},
            {"scale_inputs", record.scale_inputs},
            {"fill_missing", record.fill_missing},
            {"solver", record.report.solver},
            {"converged", record.report.status == SolveStatus::converged},
            {"iterations", record.report.iterations},
            {"residual", record.report.residual},
            {"message", record.report.message},
            {"seconds", seconds}}}};
}

template <class List, class Format>
std::string first_few(const List& list, Format format) {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t shown = 0;
  for (const auto& item : list) {
    if (shown == most) return text + fmt::format(" and {} more", list.size() - most);
    text += fmt::format("{}{}", shown++ == 0 ? "" : ", ", format(item));
  }
  return text;
}

std::string names_behind(const Json& names) {
  if (names.empty()) return "";
  return fmt::format(" ({})", first_few(names, [](const Json& name) { return name.get<std::string>(); }));
}

void print_text(const Json& about) {
  const auto line = [](const char* what, const std::string& text) { fmt::print("{:<14} {}\n", what, text); };
  const Json &kernel = about["kernel"], &fit = about["fit"];
  line("file", fmt::format("{} ({})", about["file"].get<std::string>(), format_bytes(about["bytes"].get<double>())));
  line("type", fmt::format("kernel machine, {}", about["precision"].get<std::string>()));
  const auto number = [](const Json& value) { return fmt::format("{:.6g}", value.get<double>()); };
  line("kernel", fmt::format("{}, length scale {}", kernel["name"].get<std::string>(),
                             first_few(kernel["length_scale"], number)));
  if (kernel.contains("output_matrix")) {
    line("output matrix", fmt::format("{0} x {0}", kernel["output_matrix"].size()));
  }
  line("approximation",
       fmt::format("{}, {} features", about["approximation"].get<std::string>(), about["n_features"].get<Index>()));
  line("inputs", std::to_string(about["n_inputs"].get<Index>()) + names_behind(about["input_names"]));
  line("targets", std::to_string(about["n_targets"].get<Index>()) + names_behind(about["target_names"]));
  line("inputs are", fmt::format("{}, missing ones {}", fit["scale_inputs"] ? "scaled" : "taken as they are",
                                 fit["fill_missing"] ? "filled with the training mean" : "refused"));
  line("fitted to", fmt::format("{}, squared loss, alpha {:.6g}, seed {}, {}", counted(fit["rows"].get<Index>(), "row"),
                                fit["alpha"].get<double>(), fit["seed"].get<std::uint64_t>(),
                                fit["fit_intercept"] ? "with an intercept" : "without an intercept"));
  line("solver", fmt::format("{}, {}, residual {:.3g}{}", fit["solver"].get<std::string>(),
                             counted(fit["iterations"].get<Index>(), "iteration"), fit["residual"].get<double>(),
                             fit["converged"] ? "" : ", not converged"));
  if (!fit["message"].get<std::string>().empty()) line("warning", fit["message"].get<std::string>());
  std::string times;
  for (const auto& [phase, spent] : fit["seconds"].items()) {
    times += fmt::format("{}{} {}", times.empty() ? "" : ", ", phase, format_seconds(spent.get<double>()));
  }
  line("time", times);
}

struct InfoCommand {
  std::string model;
  bool json = false;

  void run() const {
    const Json about =
        std::visit([&](const auto& machine) { return describe(machine, model); }, load_kernel_machine(model));
    if (!json) return print_text(about);
    fmt::print("{}\n", about.dump(2, ' ', false, Json::error_handler_t::replace));
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
