// cli/predict.cpp -- `carmina predict`: a model and a table in, a table of predictions out, block by block.
#include <algorithm>
#include <array>
#include <carmina/core/error.hpp>
#include <carmina/data/read_ahead.hpp>
#include <carmina/models/posterior.hpp>
#include <carmina/models/predictor.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include <variant>
#include "data/data_rows.hpp"
#include "models/machine/device_choice.hpp"

#include "columns.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "processes.hpp"

namespace carmina::cli {

namespace {

// Predictions of the processes behind the first: each keeps its own, and the first writes them in their order.
class Others {
 public:
  void keep(const Matrix<double>& values) { kept_.push_back(values); }

  void bring(const Communicator& all, TableWriter* writer) {
    const std::vector<std::int64_t> blocks = all.counts_of(static_cast<std::int64_t>(kept_.size()));
    for (const Matrix<double>& values : kept_) {
      const Index shape[] = {values.rows(), values.cols()};
      all.send(0, shape, sizeof shape);
      all.send(0, values.data(), static_cast<std::size_t>(values.size()) * sizeof(double));
    }
    for (int k = 1; writer && k < all.size(); ++k) {
      for (std::int64_t i = 0; i < blocks[static_cast<std::size_t>(k)]; ++i) {
        Index shape[2];
        all.receive(k, shape, sizeof shape);
        Matrix<double> values(shape[0], shape[1]);
        all.receive(k, values.data(), static_cast<std::size_t>(values.size()) * sizeof(double));
        writer->write(values);
      }
    }
  }

 private:
  std::vector<Matrix<double>> kept_;
};

struct PredictCommand {
  std::string model, data, out;
  bool deviations = false, joint = false, probabilities = false, parts = false;
  std::array<bool, 6> derived{};  // which of derived_names() are asked for
  std::optional<double> coverage;
  Index samples = 0;
  std::uint64_t seed = 0;
  Resources resources;

  void run() const {
    ProgressLine line;
    const Execution execution = resources.execution(line);
    if (speaks() && out != "-") check_output(out, {model, data});
    const Predictor predictor = Predictor::load(model, execution.memory_budget);
    require(!parts || !(probabilities || coverage || samples > 0),
            "--parts excludes --interval, --probabilities and --samples");
    if (const std::string reason = predictor.why_no_std(); deviations && !reason.empty()) {
      fail("{}: --std: {}", model, reason);
    }
    require(!(deviations || coverage) || !probabilities, "--probabilities excludes --std and --interval");
    if (const std::string reason = predictor.why_no_probabilities(); probabilities && !reason.empty()) {
      fail("{}: --probabilities: {}", model, reason);
    }
    require(asked().empty() || !(parts || probabilities || coverage || samples > 0),
            "derivatives go with --std alone, found another of --parts, --interval, --probabilities and --samples");
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
    require(!parts || predictor.kernel_machine(),
            "{}: --parts: what the terms of a sum of kernels contribute is known of kernel machines, the model is a "
            "spectral mixture",
            model);
    in_precision_of(predictor, [&](auto precision) { predict<decltype(precision)>(predictor, execution); });
  }

 private:
  std::vector<Derived> asked() const {
    std::vector<Derived> all;
    for (std::size_t k = 0; k < derived.size(); ++k) {
      if (derived[k]) all.push_back(static_cast<Derived>(k));
    }
    return all;
  }

  // Names of the numbers of a derived quantity; inputs without names are x1, x2, ...
  static std::vector<std::string> names_of(const Predictor& predictor, Derived what) {
    const bool wraps = predictor.row_length() != predictor.dim_in();
    std::vector<std::string> inputs = wraps ? predictor.encoder()->input_names() : predictor.input_names();
    for (Index j = std::ssize(inputs); j < predictor.row_length(); ++j) inputs.push_back("x" + std::to_string(j + 1));
    return derived_columns(what, inputs, predictor.output_names());
  }

  // What is asked for side by side, each with its deviations behind it.
  template <Real T>
  Matrix<double> derived_of(const Predictor& predictor, const ConstView<T>& X, const Execution& execution) const {
    Matrix<double> values(X.rows(), 0);
    const auto append = [&](const Matrix<T>& more) {
      Matrix<double> both(X.rows(), values.cols() + more.cols());
      both << values, more.template cast<double>();
      values = std::move(both);
    };
    for (const Derived what : asked()) {
      append(predictor.derive(what, X, execution));
      if (deviations) append(predictor.derived_std(what, X, execution));
    }
    return values;
  }

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
    if (const std::vector<Derived> wanted = asked(); !wanted.empty()) {
      std::vector<std::string> all;
      for (const Derived what : wanted) {
        for (const std::string& name : names_of(predictor, what)) all.push_back(name);
        for (const std::string& name : names_of(predictor, what)) {
          if (deviations) all.push_back(name + "_std");
        }
      }
      return all;
    }
    if (samples > 0) {
      std::vector<std::string> all;
      for (Index s = 1; s <= samples; ++s) {
        for (const std::string& name : predictor.output_names()) all.push_back(name + "_" + std::to_string(s));
      }
      return all;
    }
    if (parts) {
      std::vector<std::string> all;
      for (std::size_t k = 1; k <= terms_of(predictor); ++k) {
        for (const std::string& name : predictor.output_names()) all.push_back(name + "_part" + std::to_string(k));
      }
      for (const std::string& name : predictor.output_names()) all.push_back(name + "_intercept");
      for (std::size_t k = 1; deviations && k <= terms_of(predictor); ++k) {
        for (const std::string& name : predictor.output_names()) {
          all.push_back(name + "_part" + std::to_string(k) + "_std");
        }
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

  static std::size_t terms_of(const Predictor& predictor) {
    return std::visit([](const auto& machine) { return machine.kernel().terms().size(); }, *predictor.kernel_machine());
  }

  // What each term of a sum of kernels contributes, then the intercept: they add up to the prediction. Their deviations
  // behind them, by the posterior where it is not null.
  template <Real T>
  static Matrix<double> parts_of(const KernelMachine<T>& machine, const Posterior<T>* posterior, const ConstView<T>& X,
                                 const Execution& execution) {
    const Index p = machine.dim_out();
    const std::vector<Matrix<T>> found = machine.predict_parts(X, execution);
    const auto terms = static_cast<Index>(found.size());
    Matrix<double> values(X.rows(), p * (terms + 1 + (posterior ? terms : 0)));
    for (Index k = 0; k < terms; ++k) {
      values.middleCols(k * p, p) = found[static_cast<std::size_t>(k)].template cast<double>();
    }
    values.middleCols(terms * p, p).rowwise() = machine.intercept().template cast<double>().transpose();
    if (!posterior) return values;
    const std::vector<Matrix<double>> spread = posterior->part_deviations(X, execution);
    for (Index k = 0; k < terms; ++k) values.middleCols((terms + 1 + k) * p, p) = spread[static_cast<std::size_t>(k)];
    return values;
  }

  template <Real T>
  void predict(const Predictor& predictor, const Execution& given) const {
    auto reader = open_data(data, predictor.row_length(), given.memory_budget);
    const Index at_once = block_rows(predictor, static_cast<Index>(reader->columns().size()), given);
    ColumnRoles roles = input_roles(ModelColumns(predictor), *reader);
    ReadAhead<T> rows(rows_for<T>(predictor, std::move(reader), std::move(roles)));
    std::optional<TableWriter> writer;
    if (speaks()) writer.emplace(out, names(predictor));
    Others others;  // what this process keeps until the first one takes it
    const Index p = predictor.dim_out();
    DataRows<T> table(rows);
    table.read_at_once(at_once);
    const Execution execution = for_all_rows(predictor, rows.rows(), given);
    std::optional<Posterior<T>> posterior;  // of the parts
    if (parts && deviations) {
      posterior.emplace(std::get<KernelMachine<T>>(*predictor.kernel_machine()), execution);
    }
    const auto values_of = [&](const ConstView<T>& X) -> Matrix<double> {
      if (probabilities) return predictor.predict_probabilities(X, execution).template cast<double>();
      if (!asked().empty()) return derived_of<T>(predictor, X, execution);
      if (samples > 0) {
        Matrix<double> values(X.rows(), samples * p);
        const auto drawn = predictor.sample(X, samples, seed, execution);
        for (Index s = 0; s < samples; ++s) {
          values.middleCols(s * p, p) = drawn[static_cast<std::size_t>(s)].template cast<double>();
        }
        return values;
      }
      if (parts) {
        return parts_of<T>(std::get<KernelMachine<T>>(*predictor.kernel_machine()), posterior ? &*posterior : nullptr,
                           X, execution);
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
      require(samples == 0 || predictor.samples_in_parts() || (block.first_row == 0 && !processes()),
              "{}: --samples: draws of an exact model are of all rows together; of more than {} they need more than "
              "--memory allows: ask for fewer rows, or fit with --approximation fourier",
              data, at_once);
      try {
        const Matrix<double> values = values_of(block.inputs());
        writer ? writer->write(values) : others.keep(values);
      } catch (const RowError& error) {
        fail("{}: {}", rows.place(block.first_row + error.row()), error.text());
      }
    });
    if (processes()) others.bring(*processes(), writer ? &*writer : nullptr);
    if (writer) writer->finish();
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
  command->add_flag(
      "--parts", it->parts,
      "In the place of predictions what each term of a sum of kernels contributes, and the intercept: they "
      "add up to the prediction; with --std their standard deviations behind them");
  constexpr const char* help[] = {"derivatives of each target by each input",
                                  "the divergence of a vector field",
                                  "its curl, of two or three targets",
                                  "the potential of its curl-free part",
                                  "the stream function of its divergence-free part, of two targets",
                                  "the vector potential of its divergence-free part, of three targets"};
  const std::vector<std::string> words = derived_names();
  for (std::size_t k = 0; k < words.size(); ++k) {
    std::string word = words[k];
    std::replace(word.begin(), word.end(), '_', '-');
    command->add_flag("--" + word, it->derived[k],
                      format_text("In the place of predictions {}; with --std also its standard deviation", help[k]));
  }
  command->add_flag("--joint", it->joint, "With --interval: that all targets of a row fall into their intervals");
  it->resources.add_threads(*command);
  it->resources.add_memory(*command);
  it->resources.add_device(*command);
  run_when_parsed(*command, it);
}

}  // namespace carmina::cli
