// cli/predict.cpp -- `carmina predict`: a model and a table in, a table of predictions out, block by block.
#include <algorithm>
#include <carmina/core/error.hpp>
#include <carmina/data/data_rows.hpp>
#include <carmina/data/read_ahead.hpp>
#include <carmina/models/evaluation.hpp>
#include <memory>

#include "columns.hpp"
#include "commands.hpp"
#include "options.hpp"

namespace carmina::cli {

namespace {

struct PredictCommand {
  std::string model, data, out;
  Resources resources;

  void run() const {
    ProgressLine line;
    const Execution execution = resources.execution(line);
    check_output(out, {model, data});
    std::visit([&](const auto& machine) { predict(machine, execution); }, load_kernel_machine(model));
  }

 private:
  // An eighth of the memory for a block: its cells as they are read, the inputs, and the predictions twice.
  template <Real T>
  static Index block_rows(const KernelMachine<T>& machine, Index columns, const Execution& execution) {
    const double bytes_per_row = 8.0 * static_cast<double>(columns + machine.dim_in() + 3 * machine.dim_out());
    const double allowed = std::min(static_cast<double>(execution.memory_budget) / 8, 64e6);
    return std::clamp<Index>(static_cast<Index>(allowed / bytes_per_row), 256, 1 << 15);
  }

  template <Real T>
  void predict(const KernelMachine<T>& machine, const Execution& execution) const {
    auto reader = open_table(data, machine.dim_in());
    const ModelColumns columns(machine);
    const Index at_once = block_rows(machine, static_cast<Index>(reader->columns().size()), execution);
    ColumnRoles roles = input_roles(columns, *reader);
    ReadAhead<T> rows(TableRows<T>(std::move(reader), std::move(roles), machine.record().fill_missing));
    // As in the training data: no names in, no names out.
    TableWriter writer(
        out, columns.named_targets() ? output_names(machine.record(), machine.dim_out()) : std::vector<std::string>());
    DataRows<T> all(rows);
    all.read_at_once(at_once);
    all.for_blocks("predicting", execution, [&](const RowBlock<T>& block) {
      writer.write(machine.predict(block.inputs(), execution).template cast<double>());
    });
    writer.finish();
  }
};

}  // namespace

void add_predict(CLI::App& program) {
  auto* command = program.add_subcommand("predict", "Predict the targets of each row of a table");
  command->footer("Example: carmina predict wind.safetensors new.csv --out predictions.csv");
  auto it = std::make_shared<PredictCommand>();
  command->add_option("MODEL", it->model, "A model file")->required()->type_name("FILE");
  command->add_option("DATA", it->data, "The table: columns are found by name, or else inputs come first")
      ->required()
      ->type_name("FILE");
  command->add_option("--out", it->out, "The table to write: .csv or .npy, also with .gz")
      ->required()
      ->type_name("FILE");
  it->resources.add_threads(*command);
  it->resources.add_memory(*command);
  command->callback([it] { it->run(); });
}

}  // namespace carmina::cli
