// data/cells.cpp -- numbers, missing markers, and what is neither.
#include "data/cells.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace carmina::data {

namespace {

constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

bool is_missing_marker(std::string_view text) {
  if (text.empty() || text == "?") return true;
  if (text.size() > 4) return false;
  const std::string word = lower(text);
  return word == "na" || word == "nan" || word == "null";
}

// A number outside double's range is nearly zero, or too large: the place of its first digit that counts tells which.
Cell out_of_range(std::string_view text) {
  const auto mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, mark);
  std::string_view power = text.substr(std::min(mark + 1, text.size()));
  const bool negative = power.starts_with('-');
  if (negative || power.starts_with('+')) power.remove_prefix(1);
  constexpr long long most = std::numeric_limits<long long>::max() / 2;  // places can still be added to it
  long long exponent = 0;
  const auto code = std::from_chars(power.data(), power.data() + power.size(), exponent).ec;
  exponent = code == std::errc::result_out_of_range ? most : std::min(exponent, most);
  const auto first = static_cast<long long>(std::min(digits.find_first_of("123456789"), digits.size()));
  const auto point = static_cast<long long>(std::min(digits.find('.'), digits.size()));
  const bool tiny = point - first + (negative ? -exponent : exponent) < 0;
  return tiny ? Cell{CellKind::number, 0.0} : Cell{CellKind::too_large, missing_value};
}

// Of the UTF-8 character at the front of a text that is not empty; 0 when there is none.
std::size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : (lead & 0xF0) == 0xE0       ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((static_cast<unsigned char>(text[k]) & 0xC0) != 0x80) return 0;
  }
  if (length < 3) return length;
  // Three and four bytes must not spell what fewer can, nor surrogates, nor what lies beyond U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool wrong = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ||
                     (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90);
  return wrong ? 0 : length;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Cell parse_cell(std::string_view text) {
  text = trim(text);
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = end == digits.data() + digits.size();
  if (whole && code == std::errc{} && std::isfinite(value)) [[likely]] {
    return {CellKind::number, value};
  }
  if (is_missing_marker(text)) return {CellKind::missing, missing_value};
  if (!whole || code == std::errc::invalid_argument) return {CellKind::text, missing_value};
  if (code == std::errc::result_out_of_range) return out_of_range(digits);
  return std::isnan(value) ? Cell{CellKind::missing, missing_value} : Cell{CellKind::infinite, value};
}

void fail_cell(Cell cell, std::string_view text, const std::string& place, const std::string& column_name) {
  const std::string found = shown(trim(text)), column = shown(column_name);
  if (cell.kind == CellKind::infinite)
    fail("{}: column '{}': expected a finite number, found '{}'", place, column, found);
  if (cell.kind == CellKind::too_large) fail("{}: column '{}': the number '{}' is too large", place, column, found);
  fail("{}: column '{}': expected a number, found '{}'", place, column, found);
}

std::string shown(std::string_view text, std::size_t most) {
  std::string result;
  while (!text.empty() && result.size() < most) {
    const std::size_t length = character_bytes(text);
    const auto byte = static_cast<unsigned char>(text.front());
    result += length == 0 ? "?" : byte < ' ' || byte == 0x7F ? " " : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text.empty() ? result : result + "...";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace carmina::data
