// data/text_table.cpp -- the loop over rows of every text format.
#include "data/text_table.hpp"

#include <algorithm>
#include <unordered_set>

namespace carmina::data {

Index TextTable::read(View<double> out) {
  row_lines_.clear();
  Index count = 0;
  while (count < out.rows() && parse_row(out.data() + count * out.outerStride())) {
    row_lines_.push_back(row_line_);
    ++count;
  }
  return count;
}

void TextTable::begin_rows(const char* what_if_none) {
  header_lines_ = lines_.line_number();
  std::vector<double> first(columns_.size());
  require(parse_row(first.data()), "{}: {}", path(), what_if_none);
  rewind();
}

void TextTable::rewind() {
  lines_.rewind();
  row_lines_.clear();
  std::string_view ignored;
  while (lines_.line_number() < header_lines_ && lines_.next(ignored)) continue;
}

double TextTable::number(std::string_view text, std::size_t column) const {
  const Cell cell = parse_cell(text);
  if (cell.kind != CellKind::number && cell.kind != CellKind::missing) [[unlikely]] {
    fail_cell(cell, text, row_place(), columns_[column].name);
  }
  return cell.value;
}

std::vector<Column> numbered_columns(std::uint64_t count, const std::string& path, const ReadLimit& limit) {
  constexpr std::uint64_t most = 10'000'000;
  require(count > 0, "{}: a table without columns", path);
  require(count <= most, "{}: {} columns, more than the {} that a table may have", path, count, most);
  limit.require_room(static_cast<double>(count) * column_bytes, format_text("a table of {} columns", count), path);
  std::vector<Column> columns(count);
  for (std::uint64_t j = 0; j < count; ++j) columns[j].name = format_text("c{}", j + 1);
  return columns;
}

void check_names(const std::vector<Column>& columns, const std::string& place) {
  std::unordered_set<std::string_view> seen;
  for (const Column& column : columns) {
    const bool readable =
        is_utf8(column.name) && std::all_of(column.categories.begin(), column.categories.end(), is_utf8);
    require(readable, "{}: the name of column {} ('{}'), or a category of it, is not UTF-8 text", place,
            seen.size() + 1, shown(column.name));
    require(seen.insert(column.name).second, "{}: two columns are named '{}'", place, shown(column.name));
  }
}

}  // namespace carmina::data
