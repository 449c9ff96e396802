// fuzz/expect.cpp -- what every message must be.
#include "data/cells.hpp"
#include "fuzz/targets.hpp"

namespace carmina::fuzz {

void expect_readable(std::string_view message) {
  expect(!message.empty(), "a message is empty");
  expect(data::is_utf8(message), "a message is not UTF-8");
  expect(message.find('\n') == message.npos, "a message has two lines");
}

}  // namespace carmina::fuzz
