// data/libsvm.cpp -- "label index:value index:value ...", a row a line; what is not written is zero.
#include "data/readers.hpp"
#include "data/text_table.hpp"

#include <algorithm>
#include <charconv>

namespace carmina::data {

namespace {

class LibsvmReader final : public TextTable {
 public:
  LibsvmReader(const std::string& path, Index at_least_features, const ReadLimit& limit) : TextTable(path, limit) {
    // The number of features is the highest index of the whole file: a first pass, which also checks every
    // row.
    Index highest = at_least_features, count = 0;
    while (parse_line([&](Index index, double) { highest = std::max(highest, index); })) ++count;
    require(highest > 0 || count == 0, "{}: no row has a feature", path);
    columns_ = numbered_columns(static_cast<std::uint64_t>(highest) + 1, path, limit);
    columns_.back().name = "target";
    lines_.rewind();
    begin_rows("the file has no rows");
    rows_ = count;
  }

 private:
  bool parse_row(double* out) override {
    std::fill_n(out, columns_.size(), 0.0);
    const bool found = parse_line([&](Index index, double value) {
      if (index >= static_cast<Index>(columns_.size())) fail("{}: the file changed while it was read", row_place());
      out[index - 1] = value;
    });
    if (found) out[columns_.size() - 1] = label_;
    return found;
  }

  // Calls visit(index from 1, value) for each entry of the next line that holds a row, and sets label_.
  template <class Visit>
  bool parse_line(Visit visit) {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
      line = trim(line.substr(0, line.find('#')));
    } while (line.empty());
    row_line_ = lines_.line_number();
    label_ = value_of(next_word(line), "target");
    Index previous = 0;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const auto colon = word.find(':');
      if (colon == std::string_view::npos) fail("{}: expected index:value, found '{}'", row_place(), shown(word));
      const std::string_view name = word.substr(0, colon);
      if (name == "qid") fail("{}: 'qid' (ranking data) is not supported", row_place());
      const Index index = index_of(name);
      if (index <= previous) fail("{}: indices must increase, found {} after {}", row_place(), index, previous);
      previous = index;
      const std::string_view text = word.substr(colon + 1);
      if (text.empty()) fail("{}: expected index:value, found '{}'", row_place(), shown(word));
      visit(index, value_of(text, name));
    }
    return true;
  }

  Index index_of(std::string_view text) const {
    Index index = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (code != std::errc{} || end != text.data() + text.size()) {
      fail("{}: expected the index of a feature, found '{}'", row_place(), shown(text));
    }
    if (index < 1) fail("{}: indices start at 1, found {}", row_place(), index);
    return index;
  }

  double value_of(std::string_view text, std::string_view column) const {
    const Cell cell = parse_cell(text);
    if (cell.kind != CellKind::number && cell.kind != CellKind::missing) {
      fail_cell(cell, text, row_place(), column == "target" ? "target" : format_text("c{}", column));
    }
    return cell.value;
  }

  static std::string_view next_word(std::string_view& line) {
    line = trim(line);
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(word.size());
    return word;
  }

  double label_ = 0;
};

}  // namespace

std::unique_ptr<TableReader> open_libsvm(const std::string& path, Index at_least_features, const ReadLimit& limit) {
  return std::make_unique<LibsvmReader>(path, at_least_features, limit);
}

}  // namespace carmina::data
