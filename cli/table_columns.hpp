// cli/table_columns.hpp -- the options of `fit` and `tune` about the columns of a table: which are inputs, which is a
// weight, and what becomes of text and dates.
#pragma once
#include <CLI/App.hpp>
#include <carmina/data/input_encoder.hpp>
#include <memory>
#include <string>
#include <vector>

namespace carmina::cli {

struct TableColumns {
  std::string inputs, ignored, weights;  // names
  std::string noise;                     // of the column with the variance of each row's noise; `fit` alone has it
  std::string categories = "auto", dates, unseen = "error";
  std::vector<std::string> wrap;  // "lon=360"

  void add(CLI::App& command);
  // Of words that parsed. Error for one that is not known.
  EncodingOptions encoding() const;
  // Takes those columns out of the roles that are no inputs, and makes the variance of the noise, then the weight,
  // the last targets.
  void narrow(ColumnRoles& roles, const std::vector<Column>& columns, const std::string& file) const;
};

}  // namespace carmina::cli
