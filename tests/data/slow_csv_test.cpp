// tests/data/slow_csv_test.cpp -- thousands of small texts, most of them nearly CSV: the reader takes and refuses what
// the slow one does, and reads the same.
#include <support/slow_csv.hpp>

#include <random>

#include "table_checks.hpp"

namespace carmina::testing {
namespace {

// Pieces that meet in odd ways: signs, quotes, separators, ends of lines, blanks, numbers at the ends of their range.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> pieces = {
      ",",      ",",        ",",        ";",     "\t",        "\n",    "\n",
      "\n",     "\r\n",     "\r",       " ",     "\"",        "\"\"",  "1",
      "2",      "-",        "+",        ".",     "e",         "E5",    "e-400",
      "1e400",  "0.5",      ".5",       "5.",    "1e-320",    "nan",   "NA",
      "?",      "null",     "x",        "y",     "inf",       "-inf",  "+nan",
      "nan(1)", "Infinity", "\xC3\xBC", "\xFF",  "c2",        "0x1",   "1 2",
      "00",     "-0",       "1,2\n",    "x,y\n", "\"a\nb\",", "3;4\n", "1" + std::string(330, '0'),
      "e-9"};
  std::string text = random() % 16 == 0 ? "\xEF\xBB\xBF" : "";
  const std::size_t count = 1 + random() % 14;
  for (std::size_t k = 0; k < count; ++k) text += pieces[random() % pieces.size()];
  return text;
}

TEST(SlowCsv, AgreesOnRandomTexts) {
  TempDir dir;
  std::mt19937 random(11);
  int taken = 0;
  for (int round = 0; round < 8'000; ++round) {
    const std::string text = random_text(random);
    const auto path = dir.file("a.csv", text);
    const auto expected = slow_csv(text);
    std::optional<Table> found;
    const std::string message = error_of([&] { found = read_table(path); });
    std::filesystem::remove(path);  // a file that is written anew waits for the disk
    ASSERT_EQ(found.has_value(), expected.has_value()) << ::testing::PrintToString(text) << message;
    if (!expected) continue;
    ++taken;
    EXPECT_EQ(names_of(found->columns), expected->names) << ::testing::PrintToString(text);
    expect_same(found->values, expected->values(), ::testing::PrintToString(text));
  }
  EXPECT_GT(taken, 400);
}

}  // namespace
}  // namespace carmina::testing
