// cli/predict.cpp -- `carmina predict`: a model and a table in, a table of predictions out, block by block.
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/data/read_ahead.hpp>
#include <carmina/models/posterior.hpp>
#include <carmina/models/predictor.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include "data/data_rows.hpp"

#include "columns.hpp"
#include "commands.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

struct PredictCommand {
  std::string model, data, out;
  bool deviations = false, joint = false, probabilities = false;
  std::optional<double> coverage;
  Index samples = 0;
  std::uint64_t seed = 0;
  Resources resources;

  void run() const {
    ProgressLine line;
    const Execution execution = resources.execution(line);
    check_output(out, {model, data});
    const Predictor predictor = Predictor::load(model, execution.memory_budget);
    if (const std::string reason = predictor.why_no_std(); deviations && !reason.empty()) {
      fail("{}: --std: {}", model, reason);
    }
    require(!(deviations || coverage) || !probabilities, "--probabilities excludes --std and --interval");
    if (const std::string reason = predictor.why_no_probabilities(); probabilities && !reason.empty()) {
      fail("{}: --probabilities: {}", model, reason);
    }
    require(coverage || !joint, "--joint is for --interval, which is not given");
    if (coverage) {
      interval_level(*coverage);
      const std::string reason = predictor.why_no_interval();
      if (!reason.empty()) fail("{}: --interval: {}", model, reason);
    }
    require(samples >= 0, "--samples must be at least 1, found {}", samples);
    require(samples == 0 || !(probabilities || deviations || coverage),
            "--samples excludes --std, --interval and --probabilities");
    if (const std::string reason = predictor.why_no_std(); samples > 0 && !reason.empty()) {
      fail("{}: --samples: {}", model, reason);
    }
    in_precision_of(predictor, [&](auto precision) { predict<decltype(precision)>(predictor, execution); });
  }

 private:
  // An eighth of the memory for a block: its cells as they are read, the inputs, the predictions twice, and the
  // covariances of the outputs.
  Index block_rows(const Predictor& predictor, Index columns, const Execution& execution) const {
    const auto p = static_cast<double>(predictor.dim_out());
    if (samples > 0 && !predictor.samples_in_parts()) {  // four matrices of all rows and outputs
      const double order = std::sqrt(static_cast<double>(execution.memory_budget) / (4 * sizeof(double)));
      return std::max<Index>(1, static_cast<Index>(order / p));
    }
    const double numbers = static_cast<double>(columns + predictor.dim_in()) +
                           (deviations || coverage ? 10 * p + 4 * p * p : 3 * p * static_cast<double>(1 + samples));
    const double allowed = std::min(static_cast<double>(execution.memory_budget) / 8, 64e6);
    return std::clamp<Index>(static_cast<Index>(allowed / (8 * numbers)), 1, 1 << 15);
  }

  // As in the training data: no names in, no names out, but for predictions alone. Deviations follow the predictions,
  // then the ends of the intervals, target by target; probabilities are named.
  std::vector<std::string> names(const Predictor& predictor) const {
    if (probabilities) return predictor.class_names();
    if (samples > 0) {
      std::vector<std::string> all;
      for (Index s = 1; s <= samples; ++s) {
        for (const std::string& name : predictor.output_names()) all.push_back(name + "_" + std::to_string(s));
      }
      return all;
    }
    if (!ModelColumns(predictor).named_targets() && !deviations && !coverage) return {};
    std::vector<std::string> all = predictor.output_names();
    const std::size_t p = all.size();
    for (std::size_t j = 0; deviations && j < p; ++j) all.push_back(all[j] + "_std");
    for (std::size_t j = 0; coverage && j < p; ++j) {
      all.push_back(all[j] + "_low");
      all.push_back(all[j] + "_high");
    }
    return all;
  }

  template <Real T>
  void predict(const Predictor& predictor, const Execution& execution) const {
    auto reader = open_table(data, predictor.dim_in(), execution.memory_budget);
    const Index at_once = block_rows(predictor, static_cast<Index>(reader->columns().size()), execution);
    ColumnRoles roles = input_roles(ModelColumns(predictor), *reader);
    ReadAhead<T> rows(TableRows<T>(std::move(reader), std::move(roles), predictor.record().fill_missing));
    TableWriter writer(out, names(predictor));
    const Index p = predictor.dim_out();
    DataRows<T> table(rows);
    table.read_at_once(at_once);
    const auto values_of = [&](const ConstView<T>& X) -> Matrix<double> {
      if (probabilities) return predictor.predict_probabilities(X, execution).template cast<double>();
      if (samples > 0) {
        Matrix<double> values(X.rows(), samples * p);
        const auto drawn = predictor.sample(X, samples, seed, execution);
        for (Index s = 0; s < samples; ++s) {
          values.middleCols(s * p, p) = drawn[static_cast<std::size_t>(s)].template cast<double>();
        }
        return values;
      }
      Matrix<double> values(X.rows(), p * (1 + (deviations ? 1 : 0) + (coverage ? 2 : 0)));
      values.leftCols(p) = predictor.predict(X, execution).template cast<double>();
      if (deviations) values.middleCols(p, p) = predictor.predict_std(X, execution).template cast<double>();
      if (coverage) {
        values.rightCols(2 * p) = predictor.predict_interval(X, *coverage, joint, execution).template cast<double>();
      }
      return values;
    };
    table.for_blocks("predicting", execution, [&](const RowBlock<T>& block) {
      require(samples == 0 || block.first_row == 0 || predictor.samples_in_parts(),
              "{}: --samples: draws of an exact model are of all rows together; of more than {} they need more than "
              "--memory allows: ask for fewer rows, or fit with --approximation fourier",
              data, at_once);
      try {
        writer.write(values_of(block.inputs()));
      } catch (const RowError& error) {
        fail("{}: {}", rows.place(block.first_row + error.row()), error.text());
      }
    });
    writer.finish();
  }
};

}  // namespace

void add_predict(CLI::App& program) {
  auto* command = program.add_subcommand("predict", "Predict the targets of each row of a table");
  command->footer("Example: carmina predict wind.safetensors new.csv --out predictions.csv --interval 0.9");
  auto it = std::make_shared<PredictCommand>();
  command->add_option("MODEL", it->model, "A model file")->required()->type_name("FILE");
  command->add_option("DATA", it->data, "The table: columns are found by name, or else inputs come first")
      ->required()
      ->type_name("FILE");
  command->add_option("--out", it->out, "The table to write: .csv or .npy, also with .gz")
      ->required()
      ->type_name("FILE");
  command->add_flag("--std", it->deviations,
                    "Also the standard deviation of a new observation, in columns named after the targets with _std");
  command->add_flag("--probabilities", it->probabilities,
                    "Probabilities of the classes in the place of scores: loss logistic, or a calibrated classifier");
  command
      ->add_option("--interval", it->coverage,
                   "Also an interval that a new observation falls into with this probability, in columns named after "
                   "the targets with _low and _high")
      ->type_name("NUMBER");
  command
      ->add_option("--samples", it->samples,
                   "In the place of predictions as many functions drawn from the posterior, without noise, in columns "
                   "named after the targets with _1, _2, ...")
      ->type_name("COUNT");
  command->add_option("--seed", it->seed, "With --samples: which functions are drawn [0]")->type_name("NUMBER");
  command->add_flag("--joint", it->joint, "With --interval: that all targets of a row fall into their intervals");
  it->resources.add_threads(*command);
  it->resources.add_memory(*command);
  command->callback([it] { it->run(); });
}

}  // namespace carmina::cli
