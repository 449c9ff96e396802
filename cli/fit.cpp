// cli/fit.cpp -- `carmina fit`: a table in, a model file out.
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/kernels/parse_kernel.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "fit_arguments.hpp"
#include "kernel_text.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

using Json = nlohmann::ordered_json;

struct FitCommand : FitArguments {
  std::string alpha = "auto", groups;
  CheckpointOptions checkpoint;
  bool resumed = false, json = false;

  void run() {
    ProgressLine line;
    fit.by_evidence = alpha == "evidence";
    fit.alpha = number_in<double>("--alpha", alpha);
    const auto scores = alpha_score_names();
    if (std::find(scores.begin(), scores.end(), alpha) != scores.end()) fit.alpha_by = parse_alpha_score(alpha);
    check(line);
    require(!is_mixture() || (groups.empty() && !fit.contiguous),
            "--groups and --contiguous are for kernels whose width or alpha is chosen by left-out rows, found {}",
            MixtureArguments::kernel);
    if (!groups.empty()) {
      require(!processes(), "--groups is for one process; start it without mpirun");
      fit.groups = read_groups(groups);
    }
    fit.automatic_loss = leaves_loss(alpha != "auto");
    if (checkpoint) {
      if (speaks()) check_output(checkpoint.path, {data});
      require(std::filesystem::weakly_canonical(checkpoint.path) != std::filesystem::weakly_canonical(model),
              "--checkpoint and --model are the same file, '{}'", model);
      require(checkpoint.seconds >= 0, "--checkpoint-seconds must not be negative, found {}", checkpoint.seconds);
      checkpoint.keep = true;  // until the model is written
      fit.checkpoint = mixture.checkpoint = checkpoint;
      resumed = std::filesystem::exists(checkpoint.path);
    }
    with_rows([&](auto& rows) { is_mixture() ? fit_mixture(rows, line) : fit_rows(rows, line); });
  }

 private:
  // Once the model is written.
  void forget_checkpoint() const {
    if (resumed && !json) print_text("went on from {}\n", checkpoint.path);
    std::error_code gone;
    if (checkpoint) std::filesystem::remove(checkpoint.path, gone);
  }

  template <Real T>
  void fit_rows(RowSource<T>& rows, ProgressLine& line) const {
    double seconds = 0;
    const auto machine = fit_and_save(rows, line, seconds);
    if (!speaks()) return;
    forget_checkpoint();
    const FitRecord& record = machine.record();
    if (json) return print_report(machine.kernel(), record, seconds);

    const Term& term = machine.kernel().terms()[0];
    const bool alone = machine.kernel().terms().size() == 1;
    const std::string width = alone ? length_scale_text(term) : "";
    print_text("{}, {}, {}; {} kernel{}{}, {}; {} solver, {}\n", counted(record.rows, "row"),
               inputs_text(machine.dim_in()), counted(machine.dim_out(), "target"),
               alone ? kernel_text(term) : kernel_expression(machine.kernel()), width.empty() ? "" : " of width ",
               width, approximation_text(record), record.report.solver, format_seconds(seconds));
    if (!record.report.text.empty()) print_text("chosen: {}\n", record.report.text);
    print_learnt(record);
    print_written(record.report.message);
  }

  // What was fitted and how, by the names of `carmina info --json`.
  void print_report(const std::optional<Kernel>& kernel, const FitRecord& record, double seconds) const {
    Json report = {{"data", data}, {"model", model}, {"bytes", std::filesystem::file_size(model)}};
    if (kernel) {
      const Term& term = kernel->terms()[0];
      report["kernel"] = {{"name", kernel_name(term.scalar)},
                          {"expression", kernel_expression(*kernel)},
                          {"operator", coupling_name(term.coupling)},
                          {"length_scale", length_scale_values(term.scalar)},
                          {"parameters", kernel_parameters(term.scalar)}};
    } else {
      report["kernel"] = {{"name", MixtureArguments::kernel}};
    }
    report.update({{"approximation", record.approximation},
                   {"n_components", record.n_components},
                   {"rows", record.rows},
                   {"input_names", record.input_names},
                   {"target_names", record.target_names},
                   {"loss", loss_name(record.loss)},
                   {"alpha", record.alpha},
                   {"evidence", record.evidence ? Json(*record.evidence) : Json()},
                   {"noise", std::vector<double>(record.noise.begin(), record.noise.end())},
                   {"seed", record.seed},
                   {"solver", record.report.solver},
                   {"converged", record.report.status == SolveStatus::converged},
                   {"iterations", record.report.iterations},
                   {"chosen", record.report.text},
                   {"message", record.report.message},
                   {"seconds", seconds}});
    print_text("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
  }

  template <Real T>
  void fit_mixture(RowSource<T>& rows, ProgressLine& line) const {
    double seconds = 0;
    const auto machine = fit_mixture_and_save(rows, line, seconds);
    if (!speaks()) return;
    forget_checkpoint();
    if (json) return print_report(std::nullopt, machine.record(), seconds);
    print_text("{}; {} solver, {}\n", MixtureArguments::describe(machine), machine.report().solver,
               format_seconds(seconds));
    MixtureArguments::print_learnt(machine);
    print_written(machine.report().message);
  }
};

}  // namespace

void add_fit(CLI::App& program) {
  auto* command = program.add_subcommand("fit", "Fit a kernel machine to a table and write it to a model file");
  command->footer(
      "Example: carmina fit train.csv --targets speed,angle --model wind.safetensors --components 2000\n"
      "Example: carmina fit series.csv --targets load --model load.safetensors --kernel spectral_mixture");
  auto it = std::make_shared<FitCommand>();
  it->add(*command);
  it->add_noise(*command);
  command
      ->add_option("--alpha", it->alpha,
                   format_text("Weight of the penalty; auto: chosen with the kernel, by errors of left-out rows; "
                               "evidence: it, the width and the kernel's size are learnt, for Fourier features and "
                               "the squared loss [{}]",
                               it->alpha))
      ->type_name("auto|NUMBER|leave_one_out|gcv|evidence")
      ->check(looks_like_number({"auto", "leave_one_out", "gcv", "evidence"}));
  command
      ->add_option("--groups", it->groups,
                   "A column of numbers, no input: where the data choose, rows with the same one, such as a track, are "
                   "left out together")
      ->type_name("NAME");
  command->add_flag("--contiguous", it->fit.contiguous,
                    "Where the data choose, tenths of consecutive rows are left out, as suits a time series");
  command
      ->add_option("--checkpoint", it->checkpoint.path,
                   "Keep the state of the fit in this file while it runs: the same fit, started again after it was "
                   "killed, goes on from there and gives the same model; removed when the model is written")
      ->type_name("FILE");
  command
      ->add_option("--checkpoint-seconds", it->checkpoint.seconds,
                   format_text("Between two writings of that file, at least [{}]", it->checkpoint.seconds))
      ->type_name("NUMBER");
  command->add_flag("--json", it->json, "Print what was fitted, and how, as JSON");
  run_when_parsed(*command, it);
}

}  // namespace carmina::cli
