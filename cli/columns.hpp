// cli/columns.hpp -- which columns of a table a model's inputs and targets are.
#pragma once
#include <carmina/data/rows.hpp>
#include <carmina/models/predictor.hpp>
#include <string>
#include <vector>

namespace carmina::cli {

// Names c1, c2, ... that stand for "no names": those of a file without a header. LIBSVM's label "target" may
// be last.
bool numbered(const std::vector<Column>& columns);
std::vector<std::string> names_of(const std::vector<Column>& columns, const std::vector<Index>& chosen);

// All columns, but for LIBSVM's label: the targets are in another file.
ColumnRoles all_inputs(const std::vector<Column>& columns);

// The part of a model that tells its columns.
struct ModelColumns {
  std::vector<std::string> inputs, targets;  // names; empty when it was fitted without
  Index dim_in, n_targets;                   // columns of a table: joint quantiles are of one target

  explicit ModelColumns(const Predictor& model);
  bool named_inputs() const;
  bool named_targets() const;
};

// body(T()) in the precision that the model works in, so that a table is read in it.
template <class Body>
auto in_precision_of(const Predictor& model, const Body& body) {
  if (model.precision() == "float32") return body(float());
  return body(double());
}

// Inputs are found by name. Where the file or the model has no names they are the first dim_in columns, and
// only targets may follow them. Error with the columns that are missing.
ColumnRoles input_roles(const ModelColumns& model, const TableReader& file);

// The rows of a table as the model takes them, encoded where it has an encoder; targets are where `roles` says, or all
// of `target_table`.
template <Real T>
TableRows<T> rows_for(const Predictor& model, std::unique_ptr<TableReader> table, ColumnRoles roles,
                      std::unique_ptr<TableReader> target_table = nullptr) {
  table = encoded_table(std::move(table), roles, model.encoder());
  return {std::move(table), std::move(target_table), std::move(roles), model.record().fill_missing};
}

// Inputs and targets. `targets` as the user words them; empty: the model's by name, else the last n_targets
// columns.
ColumnRoles input_and_target_roles(const ModelColumns& model, const TableReader& file, const std::string& targets);

}  // namespace carmina::cli
