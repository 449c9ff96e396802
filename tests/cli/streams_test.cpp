// tests/cli/streams_test.cpp -- standard streams that are closed or full, signals, and files of a limited size.
#include <carmina/core/format.hpp>

#include <csignal>
#include <fstream>

#include "program.hpp"

namespace carmina::testing {
namespace {

using ::testing::HasSubstr;

// A command of the shell, with the program as $0 and the folder as its working directory; its exit status.
int shell(const TempDir& folder, const std::string& command) {
  const std::string whole = "cd '" + folder.path("") + "' && exec sh -c '" + command + "' " CARMINA_PROGRAM;
  const int status = std::system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Streams : public ::testing::Test {
 protected:
  Streams() { write_table(folder_.path("data.csv"), friedman_names, friedman_table(200, 1)); }
  TempDir folder_;
  const std::string fit_ =
      "$0 fit data.csv --targets 2 --model model --alpha 1 --length-scale 1 --components 40 "
      "--approximation fourier ";
};

TEST_F(Streams, AnErrorWithoutStandardErrorIsStillAnError) {
  for (const char* closed : {"2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(shell(folder_, std::string("$0 fit absent.csv --targets 1 --model model ") + closed), 1) << closed;
    EXPECT_EQ(shell(folder_, std::string("$0 fit --bogus ") + closed), 2) << closed;
  }
  EXPECT_EQ(folder_.entries(), 1u);
}

// The first file that is opened would otherwise be standard error, and hold what is said there.
TEST_F(Streams, NoFileTakesThePlaceOfAClosedStream) {
  EXPECT_EQ(shell(folder_, fit_ + "<&- >out 2>&- && $0 evaluate model data.csv <&- >&- 2>&-"), 1);
  EXPECT_EQ(shell(folder_, "$0 info model >out"), 0);
  EXPECT_EQ(shell(folder_, "$0 info model >/dev/full 2>err"), 1);
  EXPECT_THAT(folder_.content("err"), HasSubstr("No space left on device"));
}

TEST_F(Streams, AReaderThatLeavesEndsTheProgramQuietly) {
  ASSERT_EQ(shell(folder_, fit_ + ">out"), 0);
  EXPECT_EQ(shell(folder_, "{ $0 info model; echo $? >status; } 2>err | true"), 0);
  // true may be gone before or after the few lines are written
  EXPECT_THAT(folder_.content("status"), ::testing::AnyOf("141\n", "0\n"));
  EXPECT_EQ(folder_.content("err"), "");
}

TEST_F(Streams, AFileThatMayNotGrowIsAnErrorAndLeavesNothing) {
  EXPECT_EQ(shell(folder_, "ulimit -f 4; " + fit_ + "--variances 2>err >out"), 1);
  EXPECT_THAT(folder_.content("err"), HasSubstr("cannot write"));
  std::filesystem::remove(folder_.path("err")), std::filesystem::remove(folder_.path("out"));
  EXPECT_EQ(folder_.entries(), 1u);
}

// Each of them stops the work, and nothing stays of what was begun.
TEST_F(Streams, SignalsLeaveNothingBehind) {
  write_table(folder_.path("many.npy"), {}, friedman_table(200'000, 2));
  ASSERT_EQ(shell(folder_, fit_ + ">out"), 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    const std::string kill = format_text("kill -{} $!; wait $!", number);
    EXPECT_EQ(shell(folder_, "$0 tune many.npy --targets 2 --model tuned --by cv >out 2>err & sleep 0.3; " + kill),
              128 + number);
    // Also while the file is being written.
    EXPECT_THAT(shell(folder_, "$0 predict model many.npy --out p.csv --threads 1 >out 2>err & sleep 0.1; " + kill),
                ::testing::AnyOf(128 + number, 0));
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path(""))) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".carmina-")) << number;
      EXPECT_NE(entry.path().filename(), "tuned") << number;
    }
  }
}

}  // namespace
}  // namespace carmina::testing
