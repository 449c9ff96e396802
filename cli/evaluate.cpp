// cli/evaluate.cpp -- `carmina evaluate`: how far a model's predictions are from a table's targets.
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/data/read_ahead.hpp>
#include <carmina/models/evaluation.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "columns.hpp"
#include "commands.hpp"
#include "kernel_text.hpp"
#include "options.hpp"
#include "processes.hpp"

namespace carmina::cli {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Score& score) {
  return {
      {"target", score.target}, {"rmse", score.rmse}, {"rrmse", score.rrmse}, {"r2", score.r2}, {"loss", score.loss}};
}

void print_table(const Evaluation& result, const Loss& loss) {
  std::size_t width = std::string("average").size();
  for (const Score& score : result.targets) width = std::max(width, score.target.size());
  print_text("{:<{}} {:>12} {:>12} {:>12} {:>12}\n", "target", width, "RMSE", "RRMSE", "R²", "loss");
  const auto line = [&](const Score& score) {
    print_text("{:<{}}", score.target, width);
    for (const double value : {score.rmse, score.rrmse, score.r2, score.loss}) {
      print_text(" {:>12}", std::isnan(value) ? "nan" : format_text("{:.6g}", value));  // never "-nan"
    }
    print_text("\n");
  };
  for (const Score& score : result.targets) line(score);
  line(result.average);
  if (std::holds_alternative<Squared>(loss)) {
    print_text("{}; the average's loss is the sum over targets\n", counted(result.rows, "row"));
  } else {
    print_text("{}; loss: {}, the average's of whole rows\n", counted(result.rows, "row"), loss_text(loss));
  }
  if (result.log_loss) print_text("log loss {:.6g}, accuracy {:.6g}\n", *result.log_loss, *result.accuracy);
}

struct EvaluateCommand {
  std::string model, data;
  Targets targets;
  bool json = false;
  Resources resources;

  void run() const {
    targets.check(false);
    ProgressLine line;
    const Execution execution = resources.execution(line);
    const Predictor predictor = Predictor::load(model);
    const Evaluation result =
        in_precision_of(predictor, [&](auto precision) { return evaluate<decltype(precision)>(predictor, execution); });
    const Loss& loss = predictor.record().loss;
    line.erase();
    if (!json) return print_table(result, loss);
    Json report = {{"model", model},
                   {"data", data},
                   {"rows", result.rows},
                   {"loss", loss_name(loss)},
                   {"loss_parameters", loss_parameters(loss)},
                   {"targets", Json::array()}};
    for (const Score& score : result.targets) report["targets"].push_back(to_json(score));
    report["average"] = to_json(result.average);
    if (result.log_loss) {
      report["log_loss"] = *result.log_loss;
      report["accuracy"] = *result.accuracy;
    }
    print_text("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
  }

 private:
  template <Real T>
  Evaluation evaluate(const Predictor& predictor, const Execution& execution) const {
    auto reader = open_data(data, predictor.row_length(), execution.memory_budget);
    const ModelColumns columns(predictor);
    if (targets.file.empty()) {
      ColumnRoles roles = input_and_target_roles(columns, *reader, targets.columns);
      ReadAhead<T> rows(rows_for<T>(predictor, std::move(reader), std::move(roles)));
      return evaluate_machine<T>(predictor, rows, execution, processes());
    }
    ColumnRoles roles = input_roles(columns, *reader);
    auto target_reader = open_data(targets.file, 0, execution.memory_budget);
    require(static_cast<Index>(target_reader->columns().size()) == columns.n_targets,
            "{}: expected {} columns (the model's targets), found {}", targets.file, columns.n_targets,
            target_reader->columns().size());
    ReadAhead<T> rows(rows_for<T>(predictor, std::move(reader), std::move(roles), std::move(target_reader)));
    return evaluate_machine<T>(predictor, rows, execution, processes());
  }
};

}  // namespace

void add_evaluate(CLI::App& program) {
  auto* command = program.add_subcommand("evaluate", "Compare a model's predictions with the targets of a table");
  command->footer(
      "RRMSE is the error relative to predicting the training mean. With loss logistic, errors are those of the\n"
      "probabilities, and log loss and accuracy are printed too.\n"
      "Example: carmina evaluate wind.safetensors test.csv");
  auto it = std::make_shared<EvaluateCommand>();
  command->add_option("MODEL", it->model, "A model file")->required()->type_name("FILE");
  command->add_option("DATA", it->data, "The table, with the targets in it")->required()->type_name("FILE");
  it->targets.add(*command, " [the model's, else the last]");
  command->add_flag("--json", it->json, "Print JSON");
  it->resources.add_threads(*command);
  run_when_parsed(*command, it);
}

}  // namespace carmina::cli
