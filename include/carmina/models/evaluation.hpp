// models/evaluation.hpp -- how well a machine predicts rows it is shown, in one pass over them.
#pragma once
#include <carmina/models/kernel_machine.hpp>
#include <string>
#include <vector>

namespace carmina {

struct Score {
  std::string target;
  double rmse = 0;   // root mean squared error
  double rrmse = 0;  // error relative to predicting the training mean (SPEC 2e); NaN when that has no error
  double r2 = 0;     // 1 - squared error / variance of these rows; NaN when they do not vary
  double loss = 0;   // mean of |f - y|^2 / 2
};

struct Evaluation {
  Index rows = 0;
  std::vector<Score> targets;
  Score average;  // means over targets; the loss is summed over them, as in the fit's objective
};

template <Real T>
Evaluation evaluate_machine(const KernelMachine<T>& machine, RowSource<T>& rows, const Execution& execution = {});

}  // namespace carmina
