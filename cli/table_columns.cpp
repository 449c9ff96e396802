// cli/table_columns.cpp -- inputs by name, or all but some.
#include "table_columns.hpp"

#include <algorithm>
#include <carmina/core/error.hpp>
#include <charconv>
#include <cmath>
#include "data/choose_columns.hpp"

namespace carmina::cli {

namespace {

bool among(const std::vector<Index>& columns, Index j) {
  return std::find(columns.begin(), columns.end(), j) != columns.end();
}

}  // namespace

void TableColumns::add(CLI::App& command) {
  command.add_option("--inputs", inputs, "Columns that are inputs, with commas [all but the targets]")
      ->type_name("NAMES");
  command.add_option("--ignore", ignored, "Columns that are neither input nor target, with commas")->type_name("NAMES");
  command.add_option("--weights", weights, "A column of DATA that says how often each row counts; no input")
      ->type_name("NAME");
  command
      .add_option("--categories", categories,
                  format_text("Inputs of text: auto, a column for each value; none, an error [{}]", categories))
      ->type_name("auto|none");
  command
      .add_option("--unseen", unseen,
                  format_text("A value of such an input that the training rows lack: an error, or zeros [{}]", unseen))
      ->type_name("error|zeros");
  command.add_option("--dates", dates, "Inputs that are dates, as numbers in this unit since 1970 [an error]")
      ->type_name("days|seconds");
  command.add_option("--wrap", wrap, "Inputs that wrap round, each with its period, with commas: lon=360,hour=24")
      ->type_name("NAME=PERIOD")
      ->delimiter(',')
      ->allow_extra_args(false);
}

EncodingOptions TableColumns::encoding() const {
  require(categories == "auto" || categories == "none", "--categories: '{}' is not known here; there is auto, none",
          categories);
  EncodingOptions options;
  options.categories = categories == "auto";
  try {
    if (!dates.empty()) options.dates = parse_date_unit(dates);
    options.unseen = parse_unseen_level(unseen);
  } catch (const Error& error) {
    fail("--{}", error.what());
  }
  for (const std::string& one : wrap) {
    const std::size_t sign = one.rfind('=');
    require(sign != one.npos && sign > 0, "--wrap takes columns with their periods, such as lon=360, found '{}'", one);
    const char* const last = one.data() + one.size();
    double period = 0;
    const auto [end, code] = std::from_chars(one.data() + sign + 1, last, period);
    require(code == std::errc() && end == last && period > 0 && std::isfinite(period),
            "--wrap: a period must be a number, positive and finite, found '{}'", one);
    options.wrap.emplace_back(one.substr(0, sign), period);
  }
  return options;
}

void TableColumns::narrow(ColumnRoles& roles, const std::vector<Column>& columns, const std::string& file) const {
  const auto name = [&](Index j) { return columns[static_cast<std::size_t>(j)].name; };
  const auto drop = [&](const std::vector<Index>& some, const char* option) {
    for (const Index j : some) {
      require(!among(roles.targets, j), "{}: the column '{}' is a target and in {} too", file, name(j), option);
    }
    std::erase_if(roles.inputs, [&](Index j) { return among(some, j); });
  };
  if (!ignored.empty()) drop(columns_by_name(ignored, columns, file, "ignored column"), "--ignore");
  const auto as_target = [&](const std::string& column, const char* what, const char* option) {
    if (column.empty()) return;
    const std::vector<Index> found = columns_by_name(column, columns, file, what);
    require(found.size() == 1, "{} takes one column, found '{}'", option, column);
    drop(found, option);
    roles.targets.push_back(found[0]);
  };
  as_target(noise, "noise variance", "--noise-variance");
  as_target(weights, "weight", "--weights");
  if (!inputs.empty()) {
    const std::vector<Index> chosen = columns_by_name(inputs, columns, file, "input");
    for (const Index j : chosen) {
      require(among(roles.inputs, j), "{}: the column '{}' is in --inputs, and a target, a weight or ignored too", file,
              name(j));
    }
    roles.inputs = chosen;
  }
  require(!roles.inputs.empty(), "{}: no column is left as an input", file);
}

}  // namespace carmina::cli
