// data/cells.hpp -- one cell of a text file as a number.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace carmina::data {

enum class CellKind { number, missing, infinite, too_large, text };
struct Cell {
  CellKind kind;
  double value;  // NaN when missing
};

// Missing: nothing, or NA, NaN, ?, null in any case. Blanks around and a leading + are allowed.
Cell parse_cell(std::string_view text);

// Says of a cell that is neither a number nor missing: "PLACE: column 'NAME': expected a number, found
// 'abc'".
[[noreturn]] void fail_cell(Cell cell, std::string_view text, const std::string& place, const std::string& column);

std::string_view trim(std::string_view text);  // of blanks and tabs
// Lower case of ASCII letters; endings, keywords and missing markers are compared without case.
std::string lower(std::string_view text);

// For a message: at most so many bytes of valid UTF-8 on one line; control characters become blanks, stray bytes '?'.
std::string shown(std::string_view text, std::size_t most = 40);
bool is_utf8(std::string_view text);

}  // namespace carmina::data
