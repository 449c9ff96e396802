// data/arff.cpp -- Weka's format: @attribute lines that name and type the columns, then rows, dense or
// sparse.
#include "data/readers.hpp"
#include "data/text_table.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

namespace carmina::data {

namespace {

// A word or a quoted text from the front of a line.
struct Token {
  std::string text;
  bool quoted = false, closed = true;  // closed: false when the quote that opened it is missing at the end
};

// Up to a character of `stops`, or to the closing quote; \' inside quotes is a quote.
Token take_token(std::string_view& line, std::string_view stops) {
  line = trim(line);
  Token token;
  if (!line.empty() && (line.front() == '\'' || line.front() == '"')) {
    const char quote = line.front();
    token.quoted = true;
    token.closed = false;
    std::size_t i = 1;
    for (; i < line.size() && !token.closed; ++i) {
      if (line[i] == quote) {
        token.closed = true;
      } else {
        if (line[i] == '\\' && i + 1 < line.size()) ++i;
        token.text += line[i];
      }
    }
    line.remove_prefix(i);
  } else {
    token.text = trim(line.substr(0, line.find_first_of(stops)));
    line.remove_prefix(std::min(line.find_first_of(stops), line.size()));
  }
  line = trim(line);
  return token;
}

class ArffReader final : public TextTable {
 public:
  ArffReader(const std::string& path, const ReadLimit& limit) : TextTable(path, limit) {
    std::string_view line;
    bool in_header = true;
    while (in_header) {
      require(next_line(line), "{}: the header has no @data line", path);
      const std::string_view word = line.substr(0, line.find_first_of(" \t"));
      const std::string keyword = lower(word);
      if (keyword == "@attribute") {
        add_attribute(line.substr(word.size()));
      } else if (keyword == "@data") {
        in_header = false;
      } else {
        require(keyword == "@relation", "{}: expected @relation, @attribute or @data, found '{}'", row_place(),
                shown(line));
      }
    }
    require(!columns_.empty(), "{}: @data comes before any @attribute", row_place());
    check_names(columns_, path);
    begin_rows("there are no rows after @data");
  }

 private:
  // Skips blank lines and comments.
  bool next_line(std::string_view& line) {
    do {
      if (!lines_.next(line)) return false;
      line = trim(line);
    } while (line.empty() || line.front() == '%');
    row_line_ = lines_.line_number();
    return true;
  }

  void hold(double bytes) {
    held_ += bytes;
    limit_.require_room(held_, format_text("a table of more than {} columns and their categories", columns_.size()),
                        path());
  }

  void add_attribute(std::string_view rest) {
    const Token name = take_token(rest, " \t{");
    require(name.closed && !name.text.empty(), "{}: expected @attribute NAME TYPE", row_place());
    hold(column_bytes + 2 * static_cast<double>(name.text.size()));
    columns_.push_back({name.text, {}});
    categories_.emplace_back();
    if (rest.starts_with('{')) {
      rest.remove_prefix(1);
      add_categories(rest);
    } else {
      const std::string type = take_token(rest, " \t%").text;
      const std::string known = lower(type);
      require(known == "numeric" || known == "real" || known == "integer",
              "{}: column '{}': the type '{}' is not supported (numeric, real, integer and {{a, b, ...}} are)",
              row_place(), shown(name.text), shown(type));
    }
    require(rest.empty() || rest.front() == '%', "{}: column '{}': unexpected '{}' after the type", row_place(),
            shown(name.text), shown(rest));
  }

  void add_categories(std::string_view& rest) {
    Column& column = columns_.back();
    for (char last = ','; last != '}';) {
      const Token category = take_token(rest, ",}");
      last = rest.empty() ? '\0' : rest.front();
      require(category.closed && (last == ',' || last == '}'), "{}: column '{}': the list of categories is not closed",
              row_place(), shown(column.name));
      hold(150 + 2 * static_cast<double>(category.text.size()));  // in the list and in the map
      require(category.quoted || !category.text.empty(), "{}: column '{}': a category is empty", row_place(),
              shown(column.name));
      const bool is_new = categories_.back().emplace(category.text, column.categories.size()).second;
      require(is_new, "{}: column '{}': the category '{}' appears twice", row_place(), shown(column.name),
              shown(category.text));
      column.categories.push_back(category.text);
      rest.remove_prefix(1);
    }
    rest = trim(rest);
  }

  bool parse_row(double* out) override {
    std::string_view line;
    if (!next_line(line)) return false;
    if (line.front() == '{') {
      line.remove_prefix(1);
      parse_sparse(line, out);
    } else if (line.find_first_of("'\"") == std::string_view::npos) {
      parse_plain(trim(line.substr(0, line.find('%'))), out);
    } else {
      parse_quoted(line, out);
    }
    return true;
  }

  void parse_plain(std::string_view line, double* out) const {
    const auto found = static_cast<std::size_t>(1 + std::count(line.begin(), line.end(), ','));
    require_width(found);
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const std::string_view cell = line.substr(0, line.find(','));
      out[j] = value(trim(cell), false, j);
      line.remove_prefix(std::min(cell.size() + 1, line.size()));
    }
  }

  void parse_quoted(std::string_view line, double* out) const {
    std::size_t found = 0;
    for (bool more = true; more; ++found) {
      const Token cell = take_cell(line, ",%");
      if (found < columns_.size()) out[found] = value(cell.text, cell.quoted, found);
      more = line.starts_with(',');
      if (more) line.remove_prefix(1);
    }
    require(line.empty() || line.front() == '%', "{}: unexpected '{}' after a cell", row_place(), shown(line));
    require_width(found);
  }

  // {index value, ...}: indices from 0; a column that is not named is 0, or the first category.
  void parse_sparse(std::string_view line, double* out) const {
    std::fill_n(out, columns_.size(), 0.0);
    line = trim(line);
    Index previous = -1;
    while (!line.starts_with('}')) {
      const std::string text = take_token(line, " \t,}").text;
      Index index = 0;
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
      require(code == std::errc{} && end == text.data() + text.size() && index >= 0 &&
                  index < static_cast<Index>(columns_.size()),
              "{}: expected the number of a column from 0 to {}, found '{}'", row_place(), columns_.size() - 1,
              shown(text));
      require(index > previous, "{}: columns of a sparse row must increase, found {} after {}", row_place(), index,
              previous);
      previous = index;
      const Token cell = take_cell(line, ",}");
      out[index] = value(cell.text, cell.quoted, static_cast<std::size_t>(index));
      require(line.starts_with(',') || line.starts_with('}'), "{}: a sparse row is not closed by '}}'", row_place());
      if (line.front() == ',') line = trim(line.substr(1));
    }
    line = trim(line.substr(1));
    require(line.empty() || line.front() == '%', "{}: unexpected '{}' after a sparse row", row_place(), shown(line));
  }

  Token take_cell(std::string_view& line, std::string_view stops) const {
    Token cell = take_token(line, stops);
    require(cell.closed, "{}: a quote is opened and never closed", row_place());
    return cell;
  }

  void require_width(std::size_t found) const {
    require(found == columns_.size(), "{}: expected {} cells, found {}", row_place(), columns_.size(), found);
  }

  double value(std::string_view text, bool quoted, std::size_t j) const {
    if (columns_[j].categories.empty()) return number(text, j);
    const auto found = categories_[j].find(text);
    if (found != categories_[j].end()) return static_cast<double>(found->second);
    require(text == "?" && !quoted, "{}: column '{}': '{}' is not one of its categories ({})", row_place(),
            shown(columns_[j].name), shown(text), shown(join_text(columns_[j].categories, ", ")));
    return std::numeric_limits<double>::quiet_NaN();
  }

  double held_ = 0;                                                          // by the header
  std::vector<std::map<std::string, std::size_t, std::less<>>> categories_;  // per column: category to its index
};

}  // namespace

std::unique_ptr<TableReader> open_arff(const std::string& path, const ReadLimit& limit) {
  return std::make_unique<ArffReader>(path, limit);
}

}  // namespace carmina::data
