// solvers/evidence/ascent.hpp -- maximising a smooth function of a few hundred numbers by its gradient: L-BFGS where
// the function is fixed, Adam where every look at it is a new draw.
#pragma once
#include "core/checkpoint.hpp"

#include <carmina/core/matrix.hpp>
#include <functional>
#include <vector>

namespace carmina {

struct AscentOptions {
  Index max_iter = 500;
  double tol = 1e-6;         // relative progress below which it stops: of ten steps of L-BFGS
  bool finite_start = true;  // a start outside of the domain is an error; otherwise the end, of value -infinity
  SavedLoop saved = {};      // where the state is kept between steps
};

struct AscentResult {
  Vector<double> at;
  double value = 0;
  Index iterations = 0;
  bool converged = false;
  std::vector<double> values;  // after each step
};

// -infinity where the function is not defined.
using SmoothObjective = std::function<double(const Vector<double>& at, Vector<double>* gradient)>;
using AscentStep = std::function<void(Index step, double value)>;  // called after each step; may throw to stop

// Limited memory [Nocedal 1980] with a line search for the weak Wolfe conditions.
AscentResult lbfgs_ascent(const SmoothObjective& objective, Vector<double> start, const AscentOptions& options,
                          const AscentStep& on_step = {});

// [Kingma2015, Algorithm 1], upwards.
class AdamAscent {
 public:
  explicit AdamAscent(Index size) : first_(Vector<double>::Zero(size)), second_(first_) {}
  void step(const Vector<double>& gradient, double rate, Vector<double>& at);
  void name(LoopState& state) {
    state("first", first_), state("second", second_), state("power1", power1_), state("power2", power2_);
  }

 private:
  Vector<double> first_, second_;
  double power1_ = 1, power2_ = 1;
};

// Whether the mean of a noisy curve over its last `window` values has stopped rising: `patience` windows in a row none
// of which is better than the best before by tol, relative.
class Plateau {
 public:
  Plateau(Index window, Index patience, double tol) : window_(window), patience_(patience), tol_(tol) {}
  bool reached(double value);
  void name(LoopState& state) {
    state("seen", seen_), state("without", without_), state("sum", sum_), state("best mean", best_), state("any", any_);
  }

 private:
  Index window_, patience_, seen_ = 0, without_ = 0;
  double tol_, sum_ = 0, best_ = 0;
  bool any_ = false;
};

}  // namespace carmina
