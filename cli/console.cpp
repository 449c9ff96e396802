// cli/console.cpp -- signals as a question that work asks between blocks; a line that overwrites itself.
#include "console.hpp"

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

void catch_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    // A signal that was to be ignored (nohup) stays ignored.
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = remember_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, nullptr);
  }
}

int caught_signal() { return signal_number; }

void flush_output() {
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  require(written, "cannot write the standard output: {}", std::generic_category().message(errno));
}

std::string format_seconds(double seconds) {
  if (seconds < 10) return fmt::format("{:.2g} s", seconds);
  const auto whole = static_cast<long long>(std::min(seconds, 1e15) + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string describe(const Progress& at, double rows_per_second) {
  if (at.phase == "cg") return fmt::format("iteration {}, at most {}", at.done, at.total);
  std::string text = std::to_string(at.done);
  if (at.total > 0) text += fmt::format(" of {}", at.total);
  text += " rows";
  if (rows_per_second <= 0) return text;
  text += fmt::format(", {:.0f} rows/s", rows_per_second);
  if (at.total > at.done) {
    const double left = static_cast<double>(at.total - at.done) / rows_per_second;
    text += fmt::format(", {} left", format_seconds(std::ceil(left)));
  }
  return text;
}

ProgressLine::ProgressLine() : on_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const Progress& at) {
  if (!on_) return;
  const auto now = Clock::now();
  // A pass that begins again counts from its beginning. What was done before the first call has no time.
  if (at.phase != phase_ || at.done < last_) {
    phase_ = at.phase;
    phase_began_ = now;
    began_at_ = at.done;
  }
  last_ = at.done;
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const std::chrono::duration<double> spent = now - phase_began_;
  const double rate = spent.count() > 0 ? static_cast<double>(at.done - began_at_) / spent.count() : 0;
  std::string line = fmt::format("{}: {}", at.phase, describe(at, rate));
  const std::size_t length = line.size();
  line.resize(std::max(length, width_), ' ');
  width_ = length;
  fmt::print(stderr, "\r{}", line);
  std::fflush(stderr);
}

void ProgressLine::erase() {
  if (width_ == 0) return;
  fmt::print(stderr, "\r{}\r", std::string(width_, ' '));
  std::fflush(stderr);
  width_ = 0;
}

}  // namespace carmina::cli
