// tests/core/format_test.cpp -- texts with values against those of printf, and what the check of placeholders refuses.
#include <gtest/gtest.h>
#include <carmina/core/error.hpp>

#include <cstdint>
#include <limits>

#include "support/message_of.hpp"

namespace carmina {
namespace {

using testing::message_of;

template <class... Args>
std::string printed(const char* format, Args... args) {
  char text[200];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

TEST(FormatText, WritesNumbersAsPrintfDoes) {
  for (const double x : {0.0, 1.0 / 3, -2.5e-7, 123456.789, 1e300, -1e-300}) {
    EXPECT_EQ(format_text("{:.6g}|{:.2g}|{:.4g}", x, x, x), printed("%.6g|%.2g|%.4g", x, x, x));
    EXPECT_EQ(format_text("{:.1e}|{:>14.6g}|{:<10.3g}|", x, x, x), printed("%.1e|%14.6g|%-10.3g|", x, x, x));
  }
  EXPECT_EQ(format_text("{:.0f} {:.2f} {:>8.1f}", 2.6, 1e3, -7.25), printed("%.0f %.2f %8.1f", 2.6, 1e3, -7.25));
  EXPECT_EQ(format_text("{} {}", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(format_text("{}{}{}{}", short(-3), std::uint8_t(200), 4L, 5U), "-320045");
  EXPECT_EQ(format_text("{:>5}|{:<5}|{:05d}|{:x}", 12, 34, 56, 255), printed("%5d|%-5d|%05d|%x", 12, 34, 56, 255));
}

// As many digits as are needed to read the same number again, of its own precision.
TEST(FormatText, WritesTheShortestDigitsOfEachPrecision) {
  EXPECT_EQ(format_text("{} {} {}", 0.1F, 0.1, 1.0 / 3), "0.1 0.1 0.3333333333333333");
  EXPECT_EQ(format_text("{} {}", 1.0F / 3, 5.0), "0.33333334 5");
}

TEST(FormatText, WritesTextCharactersAndTruthValues) {
  const std::string name = "rows";
  const char* pointer = "of";
  EXPECT_EQ(format_text("{} {} {}{} {}", name, pointer, std::string_view("many"), '!', true), "rows of many! true");
  EXPECT_EQ(format_text("{:<6}|{:>6}|{:<{}}|", name, "R²", "x", 4), "rows  |    R²|x   |");
  EXPECT_EQ(format_text("{{{}}} {:.{}f}", 1, 2.0, 3), "{1} 2.000");
  EXPECT_EQ(format_text("nothing to put in"), "nothing to put in");
  EXPECT_EQ(join_text({}, ", "), "");
  EXPECT_EQ(join_text(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join_text(std::vector<std::string>{"", "b", ""}, ", "), ", b, ");
}

TEST(FormatText, IsWhatErrorsSay) {
  EXPECT_EQ(message_of([] { fail("{} of {:.1f}", 3, 0.25); }), "3 of 0.2");
  EXPECT_EQ(message_of([] { require(false, "{}: expected {}", "here", 1U); }), "here: expected 1");
  EXPECT_EQ(message_of([] { require(true, "{}: expected {}", "here", 1U); }), "");
}

// What stops the compiler, here at run time.
TEST(FormatText, ChecksPlaceholdersAgainstTheirArguments) {
  using formatting::Kind;
  const auto refused = [](std::string_view text, std::vector<Kind> arguments) -> std::string {
    try {
      formatting::check(text, arguments);
    } catch (const char* reason) {
      return reason;
    }
    return "";
  };
  const Kind integer = Kind::integer, real = Kind::real, word = Kind::text;
  EXPECT_EQ(refused("", {}), "");
  EXPECT_EQ(refused("{}{:.3g} {{}} {:<{}}", {integer, real, word, integer}), "");
  EXPECT_EQ(refused("{:.{}e}", {real, integer}), "");
  EXPECT_EQ(refused("{} {}", {integer}), "more placeholders than arguments");
  EXPECT_EQ(refused("{}", {integer, integer}), "fewer placeholders than arguments");
  EXPECT_EQ(refused("{{}}", {integer}), "fewer placeholders than arguments");
  EXPECT_EQ(refused("{0}", {integer}), "placeholders take the arguments in their order: {} or {:...}");
  EXPECT_EQ(refused("{:.2}", {integer}), "an integer has no precision");
  EXPECT_EQ(refused("{:g}", {word}), "e, f and g are for floating-point numbers");
  EXPECT_EQ(refused("{:d}", {real}), "d and x are for integers");
  EXPECT_EQ(refused("{:<{}}", {word}), "a width must be an integer");
  EXPECT_EQ(refused("{:<{}}", {word, real}), "a width must be an integer");
  EXPECT_EQ(refused("{:<{", {word, integer}), "a width that is an argument is written {}");
  EXPECT_EQ(refused("{:8", {integer}), "a placeholder without its closing brace");
  EXPECT_EQ(refused("{", {integer}), "a brace at the end of the text");
  EXPECT_EQ(refused("a } b", {}), "a closing brace without an opening one");
}

// What a file has where it is quoted: a message is one line.
TEST(Format, MessagesHaveOneLine) {
  try {
    fail("there is no kernel named '{}'", std::string("two\nlines\tand\x01"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "there is no kernel named 'two lines and '");
  }
}

}  // namespace
}  // namespace carmina
