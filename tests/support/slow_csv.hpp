// tests/support/slow_csv.hpp -- a second reader of CSV: the whole text in memory, one character after the other,
// nothing of the library.
#pragma once
#include <carmina/core/matrix.hpp>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace carmina::testing {

struct SlowTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;

  Matrix<double> values() const {
    Matrix<double> all(static_cast<Index>(rows.size()), static_cast<Index>(names.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < names.size(); ++j) all(static_cast<Index>(i), static_cast<Index>(j)) = rows[i][j];
    }
    return all;
  }
};

namespace slow {

enum class Kind { number, missing, text, wrong };
struct Value {
  Kind kind;
  double value = std::numeric_limits<double>::quiet_NaN();
};

inline std::string trimmed(const std::string& text) {
  const auto from = text.find_first_not_of(" \t"), to = text.find_last_not_of(" \t");
  return from == text.npos ? "" : text.substr(from, to - from + 1);
}

inline std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// [sign] digits [. digits] [e [sign] digits]; a digit before or behind the point.
inline bool is_decimal(const std::string& text) {
  std::size_t at = 0, digits = 0;
  const auto skip_digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
    return at - from;
  };
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  digits = skip_digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (skip_digits() == 0) return false;
  }
  return at == text.size();
}

inline Value value_of(const std::string& cell) {
  const std::string text = trimmed(cell);
  if (is_decimal(text)) {
    const double value = std::strtod(text.c_str(), nullptr);
    return std::isfinite(value) ? Value{Kind::number, value} : Value{Kind::wrong};
  }
  std::string word = in_lower_case(text);
  for (const char* missing : {"", "?", "na", "null"}) {
    if (word == missing) return {Kind::missing};
  }
  if (word.size() > 1 && (word[0] == '+' || word[0] == '-')) word.erase(0, 1);
  if (word == "inf" || word == "infinity") return {Kind::wrong};
  if (word == "nan") return {Kind::missing};
  // nan(what the C library may write here)
  const bool payload = word.starts_with("nan(") && word.ends_with(")") &&
                       word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", 4) == word.size() - 1;
  return {payload ? Kind::missing : Kind::text};
}

// By the table of the Unicode standard: shortest forms, no surrogates, up to U+10FFFF.
inline bool is_text(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) -> unsigned {
      return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0;
    };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0) return false;
    unsigned point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      if (byte(k) >> 6 != 2) return false;
      point = point << 6 | (byte(k) & 0x3F);
    }
    const unsigned least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[length - 1] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
    i += length;
  }
  return true;
}

// Cuts `lines` into rows from `at` on: lines made of `blanks` alone are none, and an open quote goes on in the next
// line.
inline std::optional<std::string> next_row(const std::vector<std::string>& lines, std::size_t& at,
                                           const std::string& blanks, bool& open) {
  while (at < lines.size() && lines[at].find_first_not_of(blanks) == std::string::npos) ++at;
  if (at == lines.size()) return std::nullopt;
  std::string row;
  open = false;
  do {
    if (open) row += '\n';
    for (const char c : lines[at]) open = open != (c == '"');
    row += lines[at++];
  } while (open && at < lines.size());
  return row;
}

inline std::vector<std::string> cells_of(const std::string& row, char separator) {
  std::vector<std::string> cells(1);
  bool inside = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '"') {
      const bool doubled = inside && row.substr(i + 1, 1) == "\"";
      if (doubled) cells.back() += row[i++];
      if (!doubled) inside = !inside;
    } else if (row[i] == separator && !inside) {
      cells.emplace_back();
    } else {
      cells.back() += row[i];
    }
  }
  return cells;
}

inline char separator_of(const std::string& row) {
  for (const char candidate : {',', ';', '\t'}) {
    bool inside = false;
    for (const char c : row) {
      inside = inside != (c == '"');
      if (c == candidate && !inside) return candidate;
    }
  }
  return ',';
}

}  // namespace slow

// Nothing for a text that is to be refused.
inline std::optional<SlowTable> slow_csv(std::string text) {
  using slow::Kind;
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.find('\0') != text.npos) return std::nullopt;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    at = end + 1;
  }
  std::size_t at = 0;
  bool open = false;
  const auto first = slow::next_row(lines, at, " \t", open);
  if (!first || open) return std::nullopt;
  const char separator = slow::separator_of(*first);
  const auto cells = slow::cells_of(*first, separator);
  bool header = false;
  for (const std::string& cell : cells) header = header || slow::value_of(cell).kind == Kind::text;
  SlowTable table;
  for (std::size_t j = 0; j < cells.size(); ++j) {
    const std::string name = header ? slow::trimmed(cells[j]) : "";
    table.names.push_back(name.empty() ? "c" + std::to_string(j + 1) : name);
    if (!slow::is_text(table.names.back())) return std::nullopt;
  }
  if (std::set<std::string>(table.names.begin(), table.names.end()).size() < table.names.size()) return std::nullopt;
  if (!header) at = 0;
  const std::string blanks = separator == '\t' ? " " : " \t";
  while (const auto row = slow::next_row(lines, at, blanks, open)) {
    const auto found = slow::cells_of(*row, separator);
    if (open || found.size() != table.names.size()) return std::nullopt;
    std::vector<double>& values = table.rows.emplace_back();
    for (const std::string& cell : found) {
      const slow::Value value = slow::value_of(cell);
      if (value.kind == Kind::text || value.kind == Kind::wrong) return std::nullopt;
      values.push_back(value.value);
    }
  }
  return table.rows.empty() ? std::nullopt : std::optional(std::move(table));
}

}  // namespace carmina::testing
