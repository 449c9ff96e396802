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
  std::string categories = "auto", dates, unseen = "error";

  void add(CLI::App& command);
  // Of words that parsed. Error for one that is not known.
  EncodingOptions encoding() const;
  // Takes those columns out of the roles that are no inputs, and makes the weight the last target.
  void narrow(ColumnRoles& roles, const std::vector<Column>& columns, const std::string& file) const;
};

}  // namespace carmina::cli
