// models/fit/pattern_problems.hpp -- outputs that are missing in the same rows are a problem of their own, of those
// rows alone, where no coupling joins them with others: a squared-loss fit with missing targets is then one such fit
// after the other, with the same map.
#pragma once
#include "models/fit/fit_pipeline.hpp"

#include <functional>

namespace carmina {

// What is left of a posed problem for one pattern: sums of its rows, or their part of K.
struct PatternProblem {
  OutputFactor outputs;
  std::unique_ptr<FeatureRows> features = {};
  std::optional<Moments> sums = {};
  Matrix<double> K = {};
  DualRows dual = {};
};

// Solutions for one alpha or several of a pattern.
using SolvePattern = std::function<std::vector<AlphaPathSolution>(PatternProblem& problem)>;

// Of all outputs, put together from those of the patterns, each of which has as many solutions; coefficients are those
// of the posed problem. `posed.K` is read, lower triangle.
template <Real T>
std::vector<AlphaPathSolution> solve_patterns(FitPipeline<T>& fit, const PosedProblem<T>& posed,
                                              const SolvePattern& solve);

}  // namespace carmina
