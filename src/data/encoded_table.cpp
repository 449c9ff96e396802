// data/encoded_table.cpp -- a table whose inputs are encoded as they are read, and the encoder that a table needs.
#include "data/cells.hpp"
#include "data/text_cells.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace carmina {

namespace {

constexpr Index rows_to_look_at = 1000;

std::string of_column(const TableReader& table, Index j) {
  return format_text("{}: column '{}'", table.path(), data::shown(table.columns()[static_cast<std::size_t>(j)].name));
}

class EncodedTable final : public TableReader {
 public:
  EncodedTable(std::unique_ptr<TableReader> table, std::vector<Index> inputs, std::vector<Index> kept,
               std::shared_ptr<const InputEncoder> encoder)
      : table_(std::move(table)), inputs_(std::move(inputs)), kept_(std::move(kept)), encoder_(std::move(encoder)) {
    const auto& columns = table_->columns();
    require(inputs_.size() == encoder_->columns().size(), "{}: {} inputs for an encoder of {} columns", path(),
            inputs_.size(), encoder_->columns().size());
    for (std::string& name : encoder_->encoded_names()) columns_.push_back({std::move(name), {}});
    for (const Index j : kept_) columns_.push_back(columns[static_cast<std::size_t>(j)]);
    of_codes_.resize(inputs_.size());
    if (auto* text = dynamic_cast<data::TextCells*>(table_.get())) {
      read_text(*text);
      return;
    }
    for (std::size_t c = 0; c < inputs_.size(); ++c) {
      if (kind(c) != ColumnKind::category) continue;
      const auto& categories = columns[static_cast<std::size_t>(inputs_[c])].categories;
      require(!categories.empty(), "{}: the model takes categories there, such as '{}', the file has numbers",
              of_column(*table_, inputs_[c]), data::shown(encoder_->columns()[c].levels.front()));
      of_codes_[c].assign(categories.size(), not_looked_up);
    }
  }

  const std::string& path() const override { return table_->path(); }
  const std::vector<Column>& columns() const override { return columns_; }
  std::optional<Index> rows() const override { return table_->rows(); }
  void rewind() override { table_->rewind(); }
  Index position(Index row) const override { return table_->position(row); }
  std::string place_at(Index position) const override { return table_->place_at(position); }

  Index read(View<double> out) override {
    const auto width = static_cast<Index>(table_->columns().size());
    if (cells_.rows() != out.rows()) cells_.resize(out.rows(), width);
    const Index count = table_->read(cells_);
    for (Index i = 0; i < count; ++i) {
      double* const to = out.data() + i * out.outerStride();
      for (std::size_t c = 0; c < inputs_.size(); ++c) encode(i, c, to);
      for (std::size_t k = 0; k < kept_.size(); ++k) {
        to[encoder_->dim_in() + static_cast<Index>(k)] = cells_(i, kept_[k]);
      }
    }
    return count;
  }

 private:
  static constexpr Index unseen = -1, not_looked_up = -2;

  ColumnKind kind(std::size_t c) const { return encoder_->columns()[c].kind; }

  void read_text(data::TextCells& text) const {
    const std::size_t width = table_->columns().size();
    std::vector<data::CellReading> readings(width, data::CellReading::skip);
    std::vector<Index> of_encoder(width, 0);
    for (const Index j : kept_) readings[static_cast<std::size_t>(j)] = data::CellReading::number;
    for (std::size_t c = 0; c < inputs_.size(); ++c) {
      const auto j = static_cast<std::size_t>(inputs_[c]);
      readings[j] = kind(c) == ColumnKind::category ? data::CellReading::category
                    : kind(c) == ColumnKind::date   ? data::CellReading::date
                                                    : data::CellReading::number;
      of_encoder[j] = static_cast<Index>(c);
    }
    text.read_as(std::move(readings), encoder_, std::move(of_encoder));
  }

  void encode(Index i, std::size_t c, double* row) {
    const auto column = static_cast<Index>(c);
    const double cell = cells_(i, inputs_[c]);
    double* const to = row + encoder_->first(column);
    if (kind(c) != ColumnKind::category) {
      encoder_->put_number(column, cell, to);
    } else if (std::isnan(cell)) {
      encoder_->put_missing(column, to);
    } else {
      const Index found = level_of(i, c, static_cast<Index>(cell));
      encoder_->put_level(column, found < 0 ? std::nullopt : std::optional<Index>(found), to);
    }
  }

  // Of a code of the table: the encoder's own where the table knows the levels, else of the text behind the code.
  Index level_of(Index i, std::size_t c, Index code) {
    auto& of_codes = of_codes_[c];
    if (of_codes.empty()) return code;
    Index& level = of_codes[static_cast<std::size_t>(code)];
    if (level == not_looked_up) {
      const Column& column = table_->columns()[static_cast<std::size_t>(inputs_[c])];
      level = encoder_->level(static_cast<Index>(c), column.categories[static_cast<std::size_t>(code)], place(i))
                  .value_or(unseen);
    }
    return level;
  }

  std::unique_ptr<TableReader> table_;
  std::vector<Index> inputs_, kept_;
  std::shared_ptr<const InputEncoder> encoder_;
  std::vector<Column> columns_;
  std::vector<std::vector<Index>> of_codes_;  // of tables with categories of their own; empty: codes are levels
  Matrix<double> cells_;
};

}  // namespace

std::shared_ptr<const InputEncoder> encoder_of(TableReader& table, const std::vector<Index>& inputs,
                                               const EncodingOptions& options) {
  std::vector<InputColumn> columns;
  auto* const text = dynamic_cast<data::TextCells*>(&table);
  const auto found = text ? text->look(rows_to_look_at) : std::vector<data::CellsFound>();
  std::vector<Index> of_text;
  for (const Index j : inputs) {
    const Column& column = table.columns()[static_cast<std::size_t>(j)];
    InputColumn& input = columns.emplace_back(InputColumn{column.name});
    const auto cells = text ? found[static_cast<std::size_t>(j)] : data::CellsFound::numbers;
    if (cells == data::CellsFound::dates && (options.dates || options.categories)) {
      require(options.dates.has_value(),
              "{}: the cells are dates; take them as numbers with --dates days, or leave the column out",
              of_column(table, j));
      input.kind = ColumnKind::date;
    } else if (cells != data::CellsFound::numbers && options.categories) {
      input.kind = ColumnKind::category;
      of_text.push_back(j);
    } else if (!column.categories.empty() && options.categories) {
      input.kind = ColumnKind::category;
      input.levels = settled_levels(column.categories, of_column(table, j));
    }
  }
  std::vector<std::set<std::string, std::less<>>> levels(table.columns().size());
  if (!of_text.empty()) {
    text->visit(of_text, [&](std::size_t column, std::string_view cell) {
      auto& seen = levels[column];
      if (seen.size() <= most_levels && !seen.contains(cell)) seen.emplace(cell);
    });
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].kind != ColumnKind::category || !columns[c].levels.empty()) continue;
    const auto& seen = levels[static_cast<std::size_t>(inputs[c])];
    columns[c].levels = settled_levels({seen.begin(), seen.end()}, of_column(table, inputs[c]));
  }
  for (const auto& [name, period] : options.wrap) {
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return one.name == name; });
    if (column == columns.end()) {
      std::vector<std::string> names;
      for (const InputColumn& one : columns) names.push_back(data::shown(one.name));
      fail("{}: wrap: there is no input '{}'; there is {}", table.path(), data::shown(name), join_text(names, ", "));
    }
    require(column->kind == ColumnKind::number, "{}: column '{}': it has {}, which do not wrap round; only numbers do",
            table.path(), data::shown(name), column->kind == ColumnKind::date ? "dates" : "categories");
    require(period > 0 && std::isfinite(period), "wrap: the period of '{}' must be positive and finite, found {}",
            data::shown(name), period);
    column->kind = ColumnKind::wrapped;
    column->period = period;
  }
  auto encoder =
      std::make_shared<const InputEncoder>(std::move(columns), options.unseen, options.dates.value_or(DateUnit::days));
  return encoder->only_numbers() ? nullptr : encoder;
}

std::shared_ptr<const InputEncoder> wrapping_encoder(Index d, const std::vector<std::pair<Index, double>>& wrap) {
  std::vector<InputColumn> columns;
  for (Index j = 0; j < d; ++j) columns.push_back({format_text("c{}", j + 1)});
  for (const auto& [j, period] : wrap) {
    require(j >= 0 && j < d, "wrap: there is no column {}, counted from 0, among {} inputs", j, d);
    columns[static_cast<std::size_t>(j)].kind = ColumnKind::wrapped;
    columns[static_cast<std::size_t>(j)].period = period;
  }
  return std::make_shared<const InputEncoder>(std::move(columns), UnseenLevel::error, DateUnit::days);
}

std::unique_ptr<TableReader> encoded_table(std::unique_ptr<TableReader> table, ColumnRoles& roles,
                                           std::shared_ptr<const InputEncoder> encoder) {
  if (encoder) {
    const Index inputs = encoder->dim_in(), targets = static_cast<Index>(roles.targets.size());
    table = std::make_unique<EncodedTable>(std::move(table), roles.inputs, roles.targets, std::move(encoder));
    roles.inputs.resize(static_cast<std::size_t>(inputs));
    std::iota(roles.inputs.begin(), roles.inputs.end(), Index{0});
    roles.targets.resize(static_cast<std::size_t>(targets));
    std::iota(roles.targets.begin(), roles.targets.end(), inputs);
    return table;
  }
  const std::size_t width = table->columns().size();
  if (auto* const text = dynamic_cast<data::TextCells*>(table.get())) {
    std::vector<data::CellReading> readings(width, data::CellReading::skip);
    for (const auto* chosen : {&roles.inputs, &roles.targets}) {
      for (const Index j : *chosen) readings[static_cast<std::size_t>(j)] = data::CellReading::number;
    }
    if (roles.inputs.size() + roles.targets.size() < width) {
      text->read_as(std::move(readings), nullptr, std::vector<Index>(width, 0));
    }
  }
  return table;
}

}  // namespace carmina
