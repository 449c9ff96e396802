// cli/tune.cpp -- `carmina tune`: width, alpha and loss parameters by cross-validation, leave-one-out error or
// evidence, then a model file.
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/models/tune.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "fit_arguments.hpp"
#include "kernel_text.hpp"

namespace carmina::cli {

namespace {

using Json = nlohmann::ordered_json;

// Best first; of equal ones that which was tried first.
std::vector<const Trial*> ranked(const std::vector<Trial>& trials) {
  std::vector<const Trial*> order;
  for (const Trial& trial : trials) order.push_back(&trial);
  std::stable_sort(order.begin(), order.end(), [](const Trial* a, const Trial* b) { return a->mean < b->mean; });
  return order;
}

Json to_json(const Trial& trial) {
  const LossParameters parameters = loss_parameters(trial.loss);
  return {{"length_scale", first_width(trial.kernel)},
          {"alpha", trial.alpha},
          {"loss", {{"name", loss_name(trial.loss)}, {"parameters", Json(parameters)}}},
          {"mean", trial.mean},
          {"std", trial.deviation},
          {"folds", trial.fold_losses}};
}

// `score` names what trials are compared by; those without folds have no deviation.
void print_table(const std::vector<const Trial*>& trials, const char* score, bool several_losses) {
  constexpr std::size_t most = 10;
  const bool folds = !trials[0]->fold_losses.empty();
  print_text("{:>14} {:>12} {:>14}{}{}\n", "length scale", "alpha", score, folds ? format_text(" {:>12}", "std") : "",
             several_losses ? "  loss" : "");
  for (std::size_t i = 0; i < std::min(most, trials.size()); ++i) {
    const Trial& trial = *trials[i];
    const std::string width = length_scale_text(trial.kernel.terms()[0]);
    print_text("{:>14} {:>12.6g} {:>14.6g}{}{}\n", width.empty() ? "-" : width, trial.alpha, trial.mean,
               folds ? format_text(" {:>12.3g}", trial.deviation) : "",
               several_losses ? "  " + loss_text(trial.loss) : "");
  }
  if (trials.size() > most) print_text("and {} worse ones; --json prints all\n", trials.size() - most);
}

struct TuneCommand : FitArguments {
  TuneOptions tune_options;
  std::string by, groups;
  std::vector<double> kappas, epsilons;
  std::vector<Index> mixture_counts;
  bool json = false;

  void run() {
    require(!processes(), "tune is for one process; start it without mpirun");
    ProgressLine line;
    if (by.empty()) by = is_mixture() ? "evidence" : "cv";
    require(by == "cv" || by == "evidence" || by == "leave-one-out" || by == "gcv",
            "--by: '{}' is not known here; there is cv, leave-one-out, gcv, evidence", by);
    if (is_mixture()) {
      require(by == "evidence", "--by {}: a spectral mixture is chosen by evidence", by);
      check(line);
      with_rows([&](auto& rows) { tune_mixtures(rows, line); });
      return;
    }
    if (by == "leave-one-out") tune_options.by = AlphaScore::leave_one_out;
    if (by == "gcv") tune_options.by = AlphaScore::gcv;
    if (by == "evidence") {
      require(tune_options.length_scales.empty() && tune_options.alphas.empty() && kappas.empty() && epsilons.empty(),
              "--by evidence learns widths and alpha from where --length-scale starts; lists of values to try are for "
              "--by cv, leave-one-out and gcv");
      fit.by_evidence = true;
      check(line);
      with_rows([&](auto& rows) { learn_rows(rows, line); });
      return;
    }
    check(line);
    if (!groups.empty()) {
      require(by == "cv", "--groups are left out in folds, --by cv; found {}", by);
      tune_options.groups = read_groups(groups);
    }
    for (const double kappa : kappas) tune_options.losses.push_back(make_loss_with("kappa", kappa));
    for (const double epsilon : epsilons) tune_options.losses.push_back(make_loss_with("epsilon", epsilon));
    with_rows([&](auto& rows) { tune_rows(rows, line); });
  }

 private:
  template <Real T>
  void learn_rows(RowSource<T>& rows, ProgressLine& line) {
    double seconds = 0;
    const auto machine = fit_and_save(rows, line, seconds);
    const FitRecord& record = machine.record();
    const Term& term = machine.kernel().terms()[0];
    if (json) {
      const Json report = {{"data", data},
                           {"model", model},
                           {"rows", record.rows},
                           {"by", "evidence"},
                           {"evidence", *record.evidence},
                           {"weight", term.weight},
                           {"length_scale", length_scale_values(term.scalar)},
                           {"alpha", record.alpha},
                           {"message", record.report.message}};
      print_text("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
      return;
    }
    print_text("{}, {}, {}; {} kernel of width {}, {}; {}\n", counted(record.rows, "row"),
               inputs_text(machine.dim_in()), counted(machine.dim_out(), "target"), kernel_text(term),
               length_scale_text(term), approximation_text(record), format_seconds(seconds));
    print_learnt(record);
    print_written(record.report.message);
  }

  template <Real T>
  void tune_mixtures(RowSource<T>& rows, ProgressLine& line) {
    const auto start = std::chrono::steady_clock::now();
    const MixtureTuneResult result = tune_mixture(rows, mixture, mixture_counts);
    const SpectralMixtureMachine& machine = result.machine;
    fit.execution.checkpoint({"writing", machine.record().rows, machine.record().rows});
    write(machine);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    line.erase();
    std::vector<MixtureTrial> trials = result.trials;
    std::stable_sort(trials.begin(), trials.end(),
                     [](const MixtureTrial& a, const MixtureTrial& b) { return a.evidence > b.evidence; });
    std::string warning = result.message;
    if (!machine.report().message.empty()) warning += (warning.empty() ? "" : "; ") + machine.report().message;
    if (json) {
      Json report = {{"data", data},
                     {"model", model},
                     {"rows", machine.record().rows},
                     {"by", by},
                     {"evidence", machine.log_marginal_likelihood()},
                     {"n_mixtures", machine.options().n_mixtures},
                     {"message", warning},
                     {"trials", Json::array()}};
      for (const MixtureTrial& trial : trials) {
        report["trials"].push_back({{"n_mixtures", trial.n_mixtures},
                                    {"evidence", trial.evidence},
                                    {"iterations", trial.iterations},
                                    {"converged", trial.converged}});
      }
      print_text("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
      return;
    }
    print_text("{}; {} by evidence, {}\n", MixtureArguments::describe(machine),
               counted(static_cast<Index>(trials.size()), "trial"), format_seconds(spent.count()));
    print_text("{:>10} {:>14} {:>12}\n", "components", "log evidence", "iterations");
    for (const MixtureTrial& trial : trials) {
      print_text("{:>10} {:>14.6g} {:>12}\n", trial.n_mixtures, trial.evidence, trial.iterations);
    }
    MixtureArguments::print_learnt(machine);
    print_written(warning);
  }

  template <Real T>
  void tune_rows(RowSource<T>& rows, ProgressLine& line) {
    const auto start = std::chrono::steady_clock::now();
    tune_options.fit = fit;
    const TuneResult<T> result = tune(rows, tune_options);
    const FitRecord& record = result.machine.record();
    fit.execution.checkpoint({"writing", record.rows, record.rows});
    write(result.machine);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    line.erase();

    const auto trials = ranked(result.validation.trials);
    std::string warning = result.validation.message;
    if (!record.report.message.empty()) warning += (warning.empty() ? "" : "; ") + record.report.message;
    if (json) {
      Json report = {{"data", data},
                     {"model", model},
                     {"rows", record.rows},
                     {"by", by},
                     {"measure", loss_text(fit.loss)},
                     {"message", warning},
                     {"trials", Json::array()}};
      if (!tune_options.by) {
        report["folds"] = tune_options.folds;
        report["contiguous"] = tune_options.contiguous;
        if (!groups.empty()) report["groups"] = groups;
      }
      for (const Trial* trial : trials) report["trials"].push_back(to_json(*trial));
      print_text("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
      return;
    }
    const std::string how = tune_options.by ? "by " + by : format_text("on {} folds", tune_options.folds);
    print_text("{}, {}, {}; {} kernel, {}; {} {}, {}\n", counted(record.rows, "row"),
               inputs_text(result.machine.dim_in()), counted(result.machine.dim_out(), "target"),
               kernel_text(result.machine.kernel().terms()[0]), approximation_text(record),
               counted(static_cast<Index>(trials.size()), "trial"), how, format_seconds(spent.count()));
    print_table(trials, by == "gcv" ? "gcv" : "left-out loss", tune_options.losses.size() > 1);
    print_written(warning);
  }
};

}  // namespace

void add_tune(CLI::App& program) {
  auto* command = program.add_subcommand(
      "tune", "Choose kernel width and alpha by cross-validation, leave-one-out or evidence, then fit");
  command->footer(
      "Takes the options of 'carmina fit' but --alpha. Trials are compared by the mean --loss of the rows left out.\n"
      "Example: carmina tune train.csv --targets speed,angle --model wind.safetensors --alphas 0.01,0.1,1");
  auto it = std::make_shared<TuneCommand>();
  it->add(*command);
  const auto numbers = [&](const char* name, std::vector<double>& values, const char* help) {
    command->add_option(name, values, help)->delimiter(',')->allow_extra_args(false)->type_name("NUMBERS");
  };
  TuneOptions& options = it->tune_options;
  command
      ->add_option(
          "--by", it->by,
          "How: cv, cross-validation; leave-one-out or gcv, of the squared loss, without folds; evidence, of Fourier "
          "features; spectral_mixture: evidence alone [cv]")
      ->type_name("cv|leave-one-out|gcv|evidence");
  numbers("--length-scales", options.length_scales,
          "Widths to try, with commas [1/4, 1/2, 1, 2, 4 times --length-scale, and further]");
  numbers("--alphas", options.alphas,
          "Weights of the penalty to try, with commas [half powers of 10 from 1e-6 to 100, without folds to 3000, and "
          "further; other "
          "losses than squared: powers from 1e-4]");
  numbers("--kappas", it->kappas, "Values of --kappa to try, with commas; compared by the loss with --kappa");
  numbers("--epsilons", it->epsilons, "Values of --epsilon to try, with commas; compared by the loss with --epsilon");
  command
      ->add_option("--mixture-counts", it->mixture_counts,
                   "Of spectral_mixture: numbers of components to try, with commas, in the place of --mixtures "
                   "[1,2,4,8,16]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NUMBERS");
  command->add_option("--folds", options.folds, format_text("Parts that are left out in turn [{}]", options.folds))
      ->type_name("N");
  command->add_flag("--contiguous", options.contiguous, "Parts of consecutive rows, as suits a time series");
  command
      ->add_option("--groups", it->groups,
                   "A column of numbers, no input: rows with the same one, such as a track, are left out together")
      ->type_name("NAME");
  command->add_flag("--json", it->json, "Print all trials as JSON");
  run_when_parsed(*command, it);
}

}  // namespace carmina::cli
