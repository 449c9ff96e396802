// tests/cli/terminal_test.cpp -- on a terminal the program shows how far it is, and Ctrl-C stops it.
#include <pty.h>
#include <unistd.h>

#include "program.hpp"

namespace carmina::testing {

using ::testing::HasSubstr;

namespace {

// The program with a terminal for its input, output and errors.
class OnTerminal {
 public:
  explicit OnTerminal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "carmina");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    process_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (process_ == 0) {
      ::execv(CARMINA_PROGRAM, argv.data());
      ::_exit(127);
    }
    if (process_ < 0) throw std::runtime_error("no terminal");
  }
  ~OnTerminal() { ::close(terminal_); }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // Reads until `text` has come, or the end.
  bool wait_for(const std::string& text) {
    while (shown_.find(text) == std::string::npos) {
      char bytes[512];
      const ssize_t count = ::read(terminal_, bytes, sizeof bytes);
      if (count <= 0) return false;
      shown_.append(bytes, static_cast<std::size_t>(count));
    }
    return true;
  }
  void type(char key) { ASSERT_EQ(::write(terminal_, &key, 1), 1); }
  int finish() {
    wait_for("\x1b never sent");
    int status = 0;
    ::waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& shown() const { return shown_; }

 private:
  int terminal_ = -1;
  pid_t process_ = -1;
  std::string shown_;
};

// What is left to see of the last line when everything has been overwritten.
std::string last_line(const std::string& shown) {
  std::string screen;
  std::size_t column = 0;
  for (const char c : shown) {
    if (c == '\n') screen.clear();
    if (c == '\n' || c == '\r') {
      column = 0;
    } else {
      screen.resize(std::max(screen.size(), column + 1), ' ');
      screen[column++] = c;
    }
  }
  return screen.substr(0, screen.find_last_not_of(' ') + 1);
}

}  // namespace

TEST(Terminal, ProgressIsShownAndErased) {
  const TempDir folder;
  write_table(folder.path("data.npy"), {}, friedman_table(150000, 1));
  OnTerminal fit(with_numbers(
      {"fit", folder.path("data.npy"), "--targets", "2", "--model", folder.path("m"), "--components", "128"}));
  EXPECT_EQ(fit.finish(), 0) << fit.shown();
  EXPECT_THAT(fit.shown(), HasSubstr("of 150000 rows, "));
  EXPECT_THAT(fit.shown(), HasSubstr(" rows/s"));
  EXPECT_THAT(fit.shown(), HasSubstr("150000 rows, 5 inputs, 2 targets"));
  EXPECT_EQ(last_line(fit.shown().substr(0, fit.shown().find("150000 rows, 5 inputs"))), "");
}

TEST(Terminal, ControlCStopsAndLeavesNothing) {
  const TempDir folder;
  write_table(folder.path("data.npy"), {}, friedman_table(150000, 1));
  // Minutes of work, were it not stopped.
  OnTerminal fit(with_numbers(
      {"fit", folder.path("data.npy"), "--targets", "2", "--model", folder.path("m"), "--components", "8000"}));
  ASSERT_TRUE(fit.wait_for("reading: "));
  fit.type('\x03');
  EXPECT_EQ(fit.finish(), 130) << fit.shown();
  EXPECT_THAT(fit.shown(), HasSubstr("carmina: stopped"));
  EXPECT_EQ(folder.entries(), 1u) << "only the data";
}

}  // namespace carmina::testing
