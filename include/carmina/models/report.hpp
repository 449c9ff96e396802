// models/report.hpp -- what a solver did: which one, why, how far it came, and what the user is warned of.
#pragma once
#include <carmina/core/matrix.hpp>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace carmina {

enum class SolveStatus { converged, not_converged };

// One setting that was tried where the data choose (FitOptions): `error` is the root mean square of the errors for rows
// that are left out, in deviations of the targets.
struct Choice {
  std::string kernel;
  double length_scale;
  std::string metric;  // "identity", "per input", "learnt"
  double alpha;
  std::string approximation;
  double rows;  // that it was tried on, by weight
  double error;
  bool chosen;
};

struct [[nodiscard]] SolveReport {
  std::string solver;  // the one that ran, one of solver_names()
  std::string reason;  // why this one: "direct: a matrix of order 1002 fits in memory"
  std::string memory;  // what was planned to be held: "at most 41 MB of 4 GB: sums of order 2050 34 MB, ..."
  std::string device;  // what ran on a device: "cuda:0, NVIDIA H200: 12 sums over rows in 0.9 s, ..."; empty: nothing
  SolveStatus status = SolveStatus::converged;
  Index iterations = 1;  // of "sgd" and "adam": passes over the rows
  double residual = 0;   // relative, of the linear system; 0 where a factorisation gave it; with other losses
                         // than the squared one the relative duality gap: no other model is better by more
  double objective = std::numeric_limits<double>::quiet_NaN();  // J at the solution, where the solver knows it
  std::string message;                                  // what the user should know; empty when nothing is remarkable
  std::vector<std::pair<std::string, double>> seconds;  // per phase, in order
  std::vector<Choice> choices;                          // what was tried, where the data chose
  std::string text;                                     // the same in words: what was chosen and why
};

// Adds the seconds between construction and destruction to a report.
class PhaseTimer {
 public:
  PhaseTimer(SolveReport& report, std::string phase) : report_(report), phase_(std::move(phase)) {}
  ~PhaseTimer() {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    try {
      report_.seconds.emplace_back(std::move(phase_), spent.count());
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line of a report; the fit ends in another error
    }
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  SolveReport& report_;
  std::string phase_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace carmina
