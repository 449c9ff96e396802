// models/fit/pattern_problems.hpp -- outputs that are missing in the same rows are a problem of their own, of those
// rows alone, where no coupling joins them with others: a squared-loss fit with missing targets is then one such fit
// after the other, with the same map.
#pragma once
#include "data/seen_rows.hpp"
#include "models/fit/fit_pipeline.hpp"

#include <functional>

namespace carmina {

// What is left of a fit and of its posed problem for one pattern: sums of its rows, or their part of K.
template <Real T>
class PatternProblem {
 public:
  PatternProblem(FitPipeline<T>& whole, const PosedSystem<T>& posed, const TargetPattern& pattern);
  PatternProblem(const PatternProblem&) = delete;

 private:
  SeenRows<T> source_;
  DataRows<T> rows_;

 public:
  FitPipeline<T> fit;  // of the rows and outputs of the pattern
  PosedSystem<T> posed;
  std::unique_ptr<FeatureRows> features;  // of a primal problem, with its sums
  std::optional<Moments> sums;
  std::vector<Index> seen;  // of a dual problem: its rows among all
};

// Solutions for one alpha or several of a pattern.
template <Real T>
using SolvePattern = std::function<std::vector<AlphaPathSolution>(PatternProblem<T>& problem)>;

// Of all outputs, put together from those of the patterns, each of which has as many solutions; coefficients are those
// of the posed problem. `posed.K` is read, lower triangle. Noise, errors of rows left out and what deviations need go
// to the pipeline.
template <Real T>
std::vector<AlphaPathSolution> solve_patterns(FitPipeline<T>& fit, const PosedSystem<T>& posed,
                                              const SolvePattern<T>& solve);

}  // namespace carmina
