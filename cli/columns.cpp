// cli/columns.cpp -- columns by name where there are names, else by position.
#include "columns.hpp"

#include <algorithm>
#include <carmina/core/error.hpp>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace carmina::cli {

namespace {

bool is_label(const Column& column) { return column.name == "target"; }

// The columns with these names, or those names that are not there.
struct Found {
  std::vector<Index> columns;
  std::vector<std::string> missing;
};

Found find(const std::vector<std::string>& names, const std::vector<Column>& columns) {
  std::unordered_map<std::string_view, Index> place;
  for (std::size_t j = 0; j < columns.size(); ++j) place.emplace(columns[j].name, static_cast<Index>(j));
  Found found;
  for (const std::string& name : names) {
    const auto at = place.find(name);
    if (at == place.end()) {
      found.missing.push_back(name);
    } else {
      found.columns.push_back(at->second);
    }
  }
  return found;
}

[[noreturn]] void fail_missing(const std::vector<std::string>& missing, const char* what, const std::string& path) {
  constexpr std::size_t most = 5;
  std::string list;
  for (std::size_t j = 0; j < std::min(most, missing.size()); ++j) {
    list += format_text("{}'{}'", j == 0 ? "" : ", ", missing[j]);
  }
  if (missing.size() > most) list += format_text(" and {} more", missing.size() - most);
  fail("{}: the model's {} {} {} missing", path, what, list, missing.size() == 1 ? "is" : "are");
}

std::vector<Index> sequence(Index first, Index count) {
  std::vector<Index> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

// By name, or nothing when the file or the model has no names.
std::optional<std::vector<Index>> inputs_by_name(const ModelColumns& model, const TableReader& file) {
  if (!model.named_inputs()) return std::nullopt;
  Found found = find(model.inputs, file.columns());
  if (found.missing.empty()) return std::move(found.columns);
  if (numbered(file.columns())) return std::nullopt;
  fail_missing(found.missing, "input", file.path());
}

}  // namespace

bool numbered(const std::vector<Column>& columns) {
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const bool last = j > 0 && j + 1 == columns.size();
    if (columns[j].name != format_text("c{}", j + 1) && !(last && is_label(columns[j]))) return false;
  }
  return true;
}

std::vector<std::string> names_of(const std::vector<Column>& columns, const std::vector<Index>& chosen) {
  std::vector<std::string> names;
  for (const Index j : chosen) names.push_back(columns[static_cast<std::size_t>(j)].name);
  return names;
}

ColumnRoles all_inputs(const std::vector<Column>& columns) {
  const auto width = static_cast<Index>(columns.size());
  const bool label = width > 1 && numbered(columns) && is_label(columns.back());
  return {sequence(0, label ? width - 1 : width), {}};
}

ModelColumns::ModelColumns(const Predictor& model)
    : inputs(model.encoder() ? model.encoder()->input_names() : model.record().input_names),
      targets(model.record().target_names),
      dim_in(model.encoder() ? static_cast<Index>(inputs.size()) : model.dim_in()),
      n_targets(model.record().joint_quantiles ? 1 : model.dim_out()) {}

bool ModelColumns::named_inputs() const {
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    if (inputs[j] != format_text("c{}", j + 1)) return true;
  }
  return false;
}

// Columns of a file without names are c1, c2, ... wherever the targets stood in it.
bool ModelColumns::named_targets() const {
  return std::any_of(targets.begin(), targets.end(), [](const std::string& name) {
    return name.size() < 2 || name[0] != 'c' || name.find_first_not_of("0123456789", 1) != std::string::npos;
  });
}

ColumnRoles input_roles(const ModelColumns& model, const TableReader& file) {
  if (auto named = inputs_by_name(model, file)) return {std::move(*named), {}};
  const auto& columns = file.columns();
  const auto more = static_cast<Index>(columns.size()) - model.dim_in;
  const bool label = more == 1 && is_label(columns.back());
  require(more == 0 || more == model.n_targets || label,
          "{}: expected {} columns (the model's inputs) or {} (inputs, then targets), found {}", file.path(),
          model.dim_in, model.dim_in + model.n_targets, columns.size());
  return {sequence(0, model.dim_in), {}};
}

ColumnRoles input_and_target_roles(const ModelColumns& model, const TableReader& file, const std::string& targets) {
  const auto& columns = file.columns();
  const auto width = static_cast<Index>(columns.size());
  ColumnRoles roles;
  if (!targets.empty()) {
    roles = choose_columns(columns, targets, file.path());
  } else {
    Found found = find(model.targets, columns);
    const bool by_name = !model.targets.empty() && found.missing.empty();
    if (!by_name && model.named_targets() && !numbered(columns)) fail_missing(found.missing, "target", file.path());
    require(by_name || width > model.n_targets, "{}: expected {} columns (inputs, then targets), found {}", file.path(),
            model.dim_in + model.n_targets, width);
    roles.targets = by_name ? std::move(found.columns) : sequence(width - model.n_targets, model.n_targets);
    for (Index j = 0; j < width; ++j) {
      if (std::find(roles.targets.begin(), roles.targets.end(), j) == roles.targets.end()) roles.inputs.push_back(j);
    }
  }
  require(static_cast<Index>(roles.targets.size()) == model.n_targets, "{}: {} targets chosen, the model has {}",
          file.path(), roles.targets.size(), model.n_targets);
  if (auto named = inputs_by_name(model, file)) roles.inputs = std::move(*named);
  require(static_cast<Index>(roles.inputs.size()) == model.dim_in,
          "{}: expected {} inputs beside the targets, found {}", file.path(), model.dim_in, roles.inputs.size());
  for (const Index j : roles.targets) {
    require(std::find(roles.inputs.begin(), roles.inputs.end(), j) == roles.inputs.end(),
            "{}: the column '{}' is an input of the model, it cannot be a target", file.path(),
            columns[static_cast<std::size_t>(j)].name);
  }
  return roles;
}

}  // namespace carmina::cli
