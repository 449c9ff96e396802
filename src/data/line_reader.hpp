// data/line_reader.hpp -- the lines of a text file, counted, of any length, with either line ending.
#pragma once
#include "data/byte_input.hpp"
#include "data/read_limit.hpp"

#include <carmina/core/matrix.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace carmina::data {

class LineReader {
 public:
  LineReader(const std::string& path, const ReadLimit& limit) : input_(path), limit_(limit) {}

  bool next(std::string_view& line);  // without its ending; borrowed until the next call; false at the end
  Index line_number() const { return line_number_; }  // of the last line, from 1
  void rewind();

  const std::string& path() const { return input_.path(); }
  std::string place() const { return place(line_number_); }
  std::string place(Index line) const { return format_text("{}:{}", path(), line); }

  // No line, and no record of several lines, is longer: what is not a table of text is refused before it
  // fills memory.
  static constexpr std::size_t longest = std::size_t{1} << 28;
  // Error where so many bytes of a line, or of a record, are more than the memory budget leaves for it.
  void check_length(std::size_t bytes) const;

 private:
  bool fill();
  std::size_t first_room() const;  // bytes of the buffer

  ByteInput input_;
  ReadLimit limit_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what is in the buffer and not yet handed out
  bool at_end_ = false;
  Index line_number_ = 0;
};

}  // namespace carmina::data
