// cli/console.cpp -- signals as a question that work asks between blocks; a line that overwrites itself.
#include "console.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace carmina::cli {

namespace {

volatile std::sig_atomic_t signal_number = 0;

extern "C" void remember_signal(int number) { signal_number = number; }

}  // namespace

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free. Not for writing where a failure is to be noticed.
    const int opened = ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != stream) ::close(opened);
  }
}

void catch_signals() {
  ::signal(SIGXFSZ, SIG_IGN);  // a write then fails with its reason
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action{};
    // What nohup had ignored stays ignored.
    if (number == SIGHUP && ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = remember_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, nullptr);
  }
}

int caught_signal() { return signal_number; }

void say(const std::string& message) noexcept {
  try {
    std::string line = message;
    // A name with a line break in it must not make two lines of one.
    std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    print_text(stderr, "carmina: {}\n", line);
  } catch (...) {  // there is nobody left to tell
  }
}

void flush_output() {
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  require(written, "cannot write the standard output: {}", std::generic_category().message(errno));
}

std::string format_seconds(double seconds) {
  if (seconds < 0.1) return format_text("{:.2g} ms", 1000 * seconds);
  if (seconds < 10) return format_text("{:.2g} s", seconds);
  const auto whole = std::llround(std::min(seconds, 1e15));
  if (whole < 60) return format_text("{} s", whole);
  if (whole < 3600) return format_text("{} min {} s", whole / 60, whole % 60);
  return format_text("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string describe(const Progress& at, double rows_per_second) {
  if (!at.step.empty()) {
    const std::string step = format_text("{} {}", at.step, at.done);
    return at.total > 0 ? format_text("{}, at most {}", step, at.total) : step;
  }
  if (at.phase == "tuning") return format_text("{} of {} fits", at.done, at.total);
  std::string text = std::to_string(at.done);
  if (at.total > 0) text += format_text(" of {}", at.total);
  text += " rows";
  if (rows_per_second <= 0) return text;
  text += format_text(", {:.0f} rows/s", rows_per_second);
  if (at.total > at.done) {
    const double left = static_cast<double>(at.total - at.done) / rows_per_second;
    text += format_text(", {} left", format_seconds(std::ceil(left)));
  }
  return text;
}

ProgressLine::ProgressLine() : on_(::isatty(STDERR_FILENO) == 1), last_(Clock::now()) {}

void ProgressLine::show(const Progress& at) {
  if (!on_) return;
  const auto now = Clock::now();
  // A phase, or a pass that begins again, began when the one before it was last heard of.
  if (at.phase != phase_ || at.done < last_done_) {
    phase_ = at.phase;
    phase_began_ = last_;
  }
  last_done_ = at.done;
  last_ = now;
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const std::chrono::duration<double> spent = now - phase_began_;
  const double rate = spent.count() > 0 ? static_cast<double>(at.done) / spent.count() : 0;
  std::string line = format_text("{}: {}", at.phase, describe(at, rate));
  const std::size_t length = line.size();
  line.resize(std::max(length, width_), ' ');
  width_ = length;
  print_text(stderr, "\r{}", line);
  std::fflush(stderr);
}

void ProgressLine::erase() {
  if (width_ == 0) return;
  print_text(stderr, "\r{}\r", std::string(width_, ' '));
  std::fflush(stderr);
  width_ = 0;
}

}  // namespace carmina::cli
