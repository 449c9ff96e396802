// data/line_reader.cpp -- cuts a growing buffer at its newlines.
#include "data/line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace carmina::data {

void LineReader::check_length(std::size_t bytes) const {
  limit_.require_room(static_cast<double>(bytes), format_text("a line of more than {} bytes", bytes / 2),
                      place(line_number_ + 1));
}

// A small file is read at once, and its end is seen by what is left.
std::size_t LineReader::first_room() const {
  constexpr std::size_t usual = std::size_t{1} << 18;
  return input_.compressed() ? usual : std::min<std::size_t>(usual, input_.stored_size() + 1);
}

bool LineReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    require(end_ < longest, "{}:{}: a line is longer than {} bytes; is this a text file?", path(), line_number_ + 1,
            longest);
    check_length(2 * end_);
    buffer_.resize(std::max<std::size_t>(first_room(), 2 * buffer_.size()));
  }
  const std::size_t room = buffer_.size() - end_;
  const std::size_t count = input_.read(buffer_.data() + end_, room);
  end_ += count;
  at_end_ = count < room;
  return count > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  const char* newline = nullptr;
  while (newline == nullptr) {
    const std::size_t have = end_ - begin_;
    if (have > searched) {
      newline = static_cast<const char*>(std::memchr(buffer_.data() + begin_ + searched, '\n', have - searched));
    }
    searched = have;
    if (newline == nullptr && !fill()) break;
  }
  const std::size_t length = newline ? static_cast<std::size_t>(newline - buffer_.data()) - begin_ : end_ - begin_;
  if (newline == nullptr && length == 0) return false;  // the last line may lack its newline
  line = std::string_view(buffer_.data() + begin_, length);
  begin_ += length + (newline ? 1 : 0);
  ++line_number_;

  if (line_number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // UTF-8 byte order mark
  if (line.ends_with('\r')) line.remove_suffix(1);
  require(line.empty() || std::memchr(line.data(), '\0', line.size()) == nullptr,
          "{}: a NUL byte, where text was expected", place());
  return true;
}

void LineReader::rewind() {
  input_.skip_to(0);
  begin_ = end_ = 0;
  at_end_ = false;
  line_number_ = 0;
}

}  // namespace carmina::data
