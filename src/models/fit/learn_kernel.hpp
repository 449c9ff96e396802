// models/fit/learn_kernel.hpp -- widths, multiples and noise of an ordinary kernel, learnt by the evidence of its
// Fourier features.
#pragma once
#include "solvers/evidence/ascent.hpp"

#include <carmina/models/fit_options.hpp>

namespace carmina {

struct LearntKernel {
  Kernel kernel;
  double alpha = 0;     // variance of the noise, in the units of the targets
  double evidence = 0;  // log density of the targets, less their mean where there is an intercept
  Index iterations = 0;
  bool converged = false;
};

// Maximises the evidence over the width (or widths) and multiple of every term of the kernel and over the noise, with
// the frequencies that a fit with these options draws (mathematics.md 3b: frequencies are unit draws over widths). X as
// the kernel sees it; Y about its mean. Terms without a width learn their multiple alone.
template <Real T>
LearntKernel learn_kernel(ConstView<T> X, ConstView<T> Y, const T* weights, const Kernel& start,
                          const FitOptions& options, const AscentOptions& ascent = {.max_iter = 200, .tol = 1e-5});

}  // namespace carmina
