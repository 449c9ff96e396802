// data/csv.cpp -- comma, semicolon or tab separated text, with or without a header.
#include "data/readers.hpp"
#include "data/text_table.hpp"

#include <algorithm>
#include <cstring>

namespace carmina::data {

namespace {

// Quotes come in pairs, a doubled quote inside a cell being two: an odd number leaves a cell open.
bool leaves_quote_open(std::string_view text) { return std::count(text.begin(), text.end(), '"') % 2 != 0; }

class CsvReader final : public TextTable {
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
    begin_rows("the file has a header but no rows");
  }

 private:
  bool parse_row(double* out) override {
    if (!next_record()) return false;
    if (record_.find('"') != std::string_view::npos) {
      require_width(split(columns_.size()));
      for (std::size_t j = 0; j < cells_.size(); ++j) out[j] = number(cells_[j], j);
      return true;
    }
    const char* at = record_.data();
    const char* const end = at + record_.size();
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const char* stop = std::find(at, end, separator_);
      if ((stop == end) != (j + 1 == columns_.size())) {
        require_width(1 + static_cast<std::size_t>(std::count(record_.begin(), record_.end(), separator_)));
      }
      out[j] = number({at, static_cast<std::size_t>(stop - at)}, j);
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
