// cli/fit.cpp -- `carmina fit`: a table in, a model file out.
#include <algorithm>
#include <carmina/core/error.hpp>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "fit_arguments.hpp"
#include "kernel_text.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

struct FitCommand : FitArguments {
  std::string alpha = "auto";
  CheckpointOptions checkpoint;
  bool resumed = false;

  void run() {
    ProgressLine line;
    fit.by_evidence = alpha == "evidence";
    fit.alpha = number_in<double>("--alpha", alpha);
    const auto scores = alpha_score_names();
    if (std::find(scores.begin(), scores.end(), alpha) != scores.end()) fit.alpha_by = parse_alpha_score(alpha);
    check(line);
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
    if (resumed) print_text("went on from {}\n", checkpoint.path);
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

    const Term& term = machine.kernel().terms()[0];  // a fit by names has one
    const std::string width = length_scale_text(term);
    print_text("{}, {}, {}; {} kernel{}{}, {}; {} solver, {}\n", counted(record.rows, "row"),
               counted(machine.dim_in(), "input"), counted(machine.dim_out(), "target"), kernel_text(term),
               width.empty() ? "" : " of width ", width, approximation_text(record), record.report.solver,
               format_seconds(seconds));
    if (!record.report.text.empty()) print_text("chosen: {}\n", record.report.text);
    print_learnt(record);
    print_written(record.report.message);
  }

  template <Real T>
  void fit_mixture(RowSource<T>& rows, ProgressLine& line) const {
    double seconds = 0;
    const auto machine = fit_mixture_and_save(rows, line, seconds);
    if (!speaks()) return;
    forget_checkpoint();
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
  command
      ->add_option("--alpha", it->alpha,
                   format_text("Weight of the penalty; auto: chosen with the kernel, by errors of left-out rows; "
                               "evidence: it, the width and the kernel's size are learnt, for Fourier features and "
                               "the squared loss [{}]",
                               it->alpha))
      ->type_name("auto|NUMBER|leave_one_out|gcv|evidence")
      ->check(looks_like_number({"auto", "leave_one_out", "gcv", "evidence"}));
  command
      ->add_option("--checkpoint", it->checkpoint.path,
                   "Keep the state of the fit in this file while it runs: the same fit, started again after it was "
                   "killed, goes on from there and gives the same model; removed when the model is written")
      ->type_name("FILE");
  command
      ->add_option("--checkpoint-seconds", it->checkpoint.seconds,
                   format_text("Between two writings of that file, at least [{}]", it->checkpoint.seconds))
      ->type_name("NUMBER");
  command->callback([it] { it->run(); });
}

}  // namespace carmina::cli
