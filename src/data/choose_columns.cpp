// data/choose_columns.cpp -- the user's word for the targets (names or a count) as column numbers.
#include "data/choose_columns.hpp"
#include "data/cells.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <utility>

namespace carmina {

namespace {

// Letters inserted, removed or changed between two names, without regard to case (Levenshtein).
std::size_t distance(const std::string& a, const std::string& b) {
  const auto same = [](char x, char y) { return std::tolower(x) == std::tolower(y); };
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (same(a[i], b[j]) ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

[[noreturn]] void fail_unknown(const std::string& name, const std::vector<Column>& columns, const std::string& file) {
  const Column* nearest = nullptr;
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;  // farther is another word, not a slip
  for (const Column& column : columns) {
    if (const std::size_t d = distance(name, column.name); d < best) {
      best = d;
      nearest = &column;
    }
  }
  if (nearest)
    fail("{}: no column is named '{}'; did you mean '{}'?", file, data::shown(name), data::shown(nearest->name));
  constexpr std::size_t most = 10;
  std::string list;
  for (std::size_t j = 0; j < std::min(most, columns.size()); ++j) {
    list += format_text("{}'{}'", j == 0 ? "" : ", ", data::shown(columns[j].name));
  }
  if (columns.size() > most) list += format_text(" and {} more", columns.size() - most);
  fail("{}: no column is named '{}'; the columns are {}", file, data::shown(name), list);
}

Index find_column(std::string_view text, const std::vector<Column>& columns, const std::string& file,
                  const char* what) {
  const std::string name(data::trim(text));
  require(!name.empty(), "{}: {} {} has an empty name", file, std::strchr("aeiou", *what) ? "an" : "a", what);
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == name; });
  if (found == columns.end()) fail_unknown(name, columns, file);
  return found - columns.begin();
}

std::vector<Index> last_columns(Index count, Index columns, const std::string& file) {
  require(count >= 1 && count < columns,
          "{}: the number of targets must be from 1 to {} ({} columns, of which one must stay an input), "
          "found {}",
          file, columns - 1, columns, count);
  std::vector<Index> last(static_cast<std::size_t>(count));
  std::iota(last.begin(), last.end(), columns - count);
  return last;
}

}  // namespace

std::vector<Index> columns_by_name(std::string_view names, const std::vector<Column>& columns, const std::string& file,
                                   const char* what) {
  // A name may itself hold a comma, when it is the only one.
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (columns[j].name == names) return {static_cast<Index>(j)};
  }
  std::vector<Index> found;
  for (bool more = true; more;) {
    const std::string_view name = names.substr(0, names.find(','));
    found.push_back(find_column(name, columns, file, what));
    require(std::count(found.begin(), found.end(), found.back()) == 1, "{}: the {} '{}' is named twice", file, what,
            data::trim(name));
    more = name.size() < names.size();
    names.remove_prefix(more ? name.size() + 1 : name.size());
  }
  return found;
}

ColumnRoles choose_columns(const std::vector<Column>& columns, const std::string& targets, const std::string& file) {
  const auto width = static_cast<Index>(columns.size());
  const std::string_view text = data::trim(targets);
  ColumnRoles roles;
  if (!text.empty()) {
    Index count = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool is_count = code == std::errc{} && end == text.data() + text.size();
    roles.targets = is_count ? last_columns(count, width, file) : columns_by_name(text, columns, file, "target");
    require(roles.targets.size() < columns.size(), "{}: all {} columns are targets; one must stay an input", file,
            columns.size());
  }
  for (Index j = 0; j < width; ++j) {
    if (std::find(roles.targets.begin(), roles.targets.end(), j) == roles.targets.end()) roles.inputs.push_back(j);
  }
  return roles;
}

}  // namespace carmina
