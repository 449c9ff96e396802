// data/csv.cpp -- comma, semicolon or tab separated text, with or without a header.
#include "data/readers.hpp"
#include "data/text_cells.hpp"
#include "data/text_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace carmina::data {

namespace {

// Quotes come in pairs, a doubled quote inside a cell being two: an odd number leaves a cell open.
bool leaves_quote_open(std::string_view text) { return std::count(text.begin(), text.end(), '"') % 2 != 0; }

class CsvReader final : public TextTable, public TextCells {
 public:
  CsvReader(const std::string& path, const ReadLimit& limit) : TextTable(path, limit) {
    require(next_record(), "{}: the file is empty", path);
    separator_ = find_separator(record_);
    const auto most = static_cast<std::uint64_t>(1 + std::count(record_.begin(), record_.end(), separator_));
    limit.require_room(static_cast<double>(most) * column_bytes, format_text("a table of {} columns", most), path);
    split(most);
    const bool header = std::any_of(cells_.begin(), cells_.end(),
                                    [](const std::string& cell) { return parse_cell(cell).kind == CellKind::text; });
    columns_ = numbered_columns(cells_.size(), path, limit);
    if (header) {
      for (std::size_t j = 0; j < cells_.size(); ++j) {
        if (const auto name = trim(cells_[j]); !name.empty()) columns_[j].name = name;
      }
      check_names(columns_, row_place());
    } else {
      lines_.rewind();
    }
    passing_ = true;  // a cell of the first row that is no number is an error once it is read as one
    begin_rows("the file has a header but no rows");
    passing_ = false;
  }

  std::vector<CellsFound> look(Index rows) override {
    std::vector<CellsFound> found(columns_.size(), CellsFound::numbers);
    std::vector<bool> dates(columns_.size(), true), text(columns_.size(), false), numbers(columns_.size(), false);
    seen_ = [&](std::size_t j, std::string_view cell) {
      const bool is_text = parse_cell(cell).kind == CellKind::text;
      (is_text ? text : numbers)[j] = true;
      dates[j] = dates[j] && is_text && parse_date(cell);
    };
    go_through(rows);
    for (std::size_t j = 0; j < found.size(); ++j) {
      // Text among numbers is a slip, which is an error once it is read.
      if (text[j] && !numbers[j]) found[j] = dates[j] ? CellsFound::dates : CellsFound::text;
    }
    return found;
  }

  void visit(const std::vector<Index>& columns, const Seen& seen) override {
    std::vector<bool> wanted(columns_.size(), false);
    for (const Index j : columns) wanted[static_cast<std::size_t>(j)] = true;
    seen_ = [&](std::size_t j, std::string_view cell) {
      if (wanted[j]) seen(j, cell);
    };
    go_through(std::numeric_limits<Index>::max());
  }

  void read_as(std::vector<CellReading> readings, std::shared_ptr<const InputEncoder> encoder,
               std::vector<Index> encoder_columns) override {
    readings_ = std::move(readings);
    encoder_ = std::move(encoder);
    encoder_columns_ = std::move(encoder_columns);
  }

 private:
  // Shows the cells of so many rows to seen_, but for those that are missing.
  void go_through(Index rows) {
    passing_ = true;
    rewind();
    std::vector<double> row(columns_.size());
    for (Index i = 0; i < rows && parse_row(row.data()); ++i) continue;
    rewind();
    passing_ = false;
    seen_ = nullptr;
  }

  // A cell as its column is read.
  double cell(std::string_view text, std::size_t j) const {
    if (readings_.empty() && !passing_) [[likely]]
      return number(text, j);
    return passing_ ? pass(text, j) : other_cell(text, j);
  }

  double pass(std::string_view text, std::size_t j) const {
    text = trim(text);
    if (seen_ && !is_missing(text)) seen_(j, text);
    return 0;
  }

  double other_cell(std::string_view text, std::size_t j) const {
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    switch (readings_[j]) {
      case CellReading::number:
        return number(text, j);
      case CellReading::skip:
        return 0;
      case CellReading::date: {
        if (is_missing(trim(text))) return missing;
        const auto at = parse_date(text);
        require(at.has_value(),
                "{}: column '{}': expected a date such as 2024-05-31 or 2024-05-31T12:30:00, found '{}'", row_place(),
                shown(columns_[j].name), shown(text));
        return at->in(encoder_->dates());
      }
      case CellReading::category:
        break;
    }
    if (is_missing(trim(text))) return missing;
    const Index column = encoder_columns_[j];
    return static_cast<double>(encoder_->level(column, text, row_place()).value_or(-1));
  }

  static bool is_missing(std::string_view text) { return parse_cell(text).kind == CellKind::missing; }

  bool parse_row(double* out) override {
    if (!next_record()) return false;
    if (record_.find('"') != std::string_view::npos) {
      require_width(split(columns_.size()));
      for (std::size_t j = 0; j < cells_.size(); ++j) out[j] = cell(cells_[j], j);
      return true;
    }
    const char* at = record_.data();
    const char* const end = at + record_.size();
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const char* stop = std::find(at, end, separator_);
      if ((stop == end) != (j + 1 == columns_.size())) {
        require_width(1 + static_cast<std::size_t>(std::count(record_.begin(), record_.end(), separator_)));
      }
      out[j] = cell({at, static_cast<std::size_t>(stop - at)}, j);
      at = stop + 1;
    }
    return true;
  }

  void require_width(std::size_t found) const {
    require(found == columns_.size(), "{}: expected {} cells, found {}", row_place(), columns_.size(), found);
  }

  // One row: a line, or several when a quoted cell holds newlines. Blank lines are skipped.
  bool next_record() {
    do {
      if (!lines_.next(record_)) return false;
    } while (record_.find_first_not_of(separator_ == '\t' ? " " : " \t") == std::string_view::npos);
    row_line_ = lines_.line_number();
    if (!leaves_quote_open(record_)) return true;
    joined_ = record_;
    for (bool open = true; open;) {
      std::string_view more;
      lines_.check_length(2 * joined_.size());
      require(joined_.size() < LineReader::longest && lines_.next(more), "{}: a quote is opened and never closed",
              row_place());
      joined_ += '\n';
      joined_ += more;
      open = !leaves_quote_open(more);
    }
    record_ = joined_;
    return true;
  }

  // The comma, unless the first line has none and has a semicolon or a tab.
  static char find_separator(std::string_view line) {
    bool quoted = false, semicolon = false, tab = false;
    for (char c : line) {
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == ',') return ',';
      semicolon = semicolon || c == ';';
      tab = tab || c == '\t';
    }
    return semicolon ? ';' : tab ? '\t' : ',';
  }

  // record_ into cells_, quotes removed; how many there are, of which at most so many are kept.
  std::size_t split(std::size_t most) {
    cells_.assign(1, "");
    std::size_t found = 1;
    bool quoted = false;
    for (std::size_t i = 0; i < record_.size(); ++i) {
      const char c = record_[i];
      if (c == '"' && quoted && i + 1 < record_.size() && record_[i + 1] == '"') {
        if (found <= most) cells_.back() += '"';
        ++i;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == separator_ && !quoted) {
        if (++found <= most) cells_.emplace_back();
      } else if (found <= most) {
        cells_.back() += c;
      }
    }
    return found;
  }

  std::vector<CellReading> readings_;  // empty: numbers
  std::shared_ptr<const InputEncoder> encoder_;
  std::vector<Index> encoder_columns_;
  Seen seen_;             // while rows are gone through
  bool passing_ = false;  // cells are not converted
  char separator_ = ',';
  std::string_view record_;  // the row being parsed
  std::string joined_;       // holds it when it spans lines
  std::vector<std::string> cells_;
};

}  // namespace

std::unique_ptr<TableReader> open_csv(const std::string& path, const ReadLimit& limit) {
  return std::make_unique<CsvReader>(path, limit);
}

}  // namespace carmina::data
