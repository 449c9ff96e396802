// cli/console.hpp -- the program and its terminal: signals, the line of progress, standard output.
#pragma once
#include <carmina/core/execution.hpp>
#include <chrono>
#include <string>

namespace carmina::cli {

// Standard input, output and error that were closed are opened, so that no file of ours takes their place: writing to
// such an output is an error, what is said on such a standard error is lost.
void open_standard_streams();

// From here on Ctrl-C, a polite request to end, and a pipe that nobody reads any more stop the work at its next
// checkpoint (Cancelled). A file that may not become larger is an error where it is written.
void catch_signals();
int caught_signal();  // 0: none

// "carmina: MESSAGE" on standard error, on one line whatever is in it. What cannot be said is no error.
void say(const std::string& message) noexcept;

// Error when what was printed could not be written.
void flush_output();

// One line on standard error, rewritten at most ten times a second and erased at the end. Nothing unless
// standard error is a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& at);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  bool on_;
  std::string phase_;
  Index last_done_ = 0;
  Clock::time_point last_, phase_began_, drawn_;  // last_: of the last call
  std::size_t width_ = 0;                         // of what stands on the terminal
};

// "120000 of 200000 rows, 54000 rows/s, 2 s left"; a rate of 0 is not known yet.
std::string describe(const Progress& at, double rows_per_second);
std::string format_seconds(double seconds);  // "31 ms", "0.42 s", "3 min 20 s", "2 h 5 min"

}  // namespace carmina::cli
