// models/fit_path.hpp -- the one path of a fit: summary of the rows, kernel, map, loss and solver, machine.
//
// fit.cpp walks it; what differs between Fourier, exact and sketched machines, and losses other than the squared one,
// stands in the files beside it.
#pragma once
#include "preparation.hpp"
#include "row_matrices.hpp"
#include "solver_choice.hpp"

#include <carmina/features/sketched_map.hpp>
#include <carmina/models/alpha_path.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/solvers/any_loss.hpp>
#include <carmina/solvers/iterative.hpp>
#include <carmina/solvers/ridge_path.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace carmina {

template <Real T>
class FitPath {
 public:
  FitPath(RowSource<T>& rows, const FitOptions& options)
      : rows_(rows), options_(options), execution_(options.execution), sketch_(options.chosen_sketch()) {}

  KernelMachine<T> run();
  // fit_alphas.cpp
  MachinePath<T> run_path(const std::vector<double>& alphas, bool leave_one_out);

 private:
  using Map = typename KernelMachine<T>::Map;

  // fit_exact.cpp
  KernelMachine<T> fit_exact(const ScalarKernel& scalar);
  KernelMachine<T> fit_exact_blocks();
  // fit_fourier.cpp
  KernelMachine<T> fit_fourier();
  KernelMachine<T> fit_fourier_expanded();
  LinearSolution iterate(const FourierMap<T>& map, const Expansion& expansion);
  LinearSolution fourier_dual(const FourierMap<T>& map);
  LinearSolution fourier_direct(const FourierMap<T>& map);
  LinearSolution fourier_cg(const FourierMap<T>& map, const PredictedTimes& times);
  FourierMap<T> sample_map() const;
  // fit_sketched.cpp
  KernelMachine<T> fit_sketched(const ScalarKernel& scalar);
  // The map, with its sums where they come cheaply.
  SketchedMap<T> sketched_map(const ScalarKernel& scalar, std::optional<Moments>& moments);
  Matrix<T> rows_at(const std::vector<Index>& numbers);
  bool keeps_mixed_rows(const sketches::Sketch& sketch) const;
  // NOLINTNEXTLINE(performance-unnecessary-value-param): moved from in double
  SketchedMap<T> sum_mixed_rows(KernelMap<T> kernel_map, const sketches::Sketch& sketch, std::optional<Moments>& sums);
  // fit_alphas.cpp
  struct PathFit {
    Map map;
    std::vector<RidgePoint> points;
  };
  PathFit path_fit(const std::vector<double>& alphas, bool leave_one_out);
  PathFit exact_path(const ScalarKernel* scalar, const RidgePathProblem& problem);
  PathFit fourier_path(const RidgePathProblem& problem);
  PathFit fourier_dual_path(FourierMap<T> map, const RidgePathProblem& problem);
  PathFit sketched_path(const ScalarKernel& scalar, const RidgePathProblem& problem);
  template <ScalarMap M>
  std::vector<RidgePoint> path_of(const M& map, const Moments& moments, const Expansion* expansion,
                                  const RidgePathProblem& problem);
  void check_path_memory(Index order, double other_bytes, bool leave_one_out) const;
  // fit_blocks.cpp
  KernelMachine<T> fit_blocks();
  // fit_any_loss.cpp
  void check_targets(const Matrix<double>& Y) const;
  KernelMachine<T> fit_fourier_any_loss();
  KernelMachine<T> fit_exact_any_loss(const ScalarKernel& scalar);
  template <ScalarMap M>
  LinearSolution minimise_loss(const M& map, const CoefficientSpace& space);
  LinearSolution minimise_loss(const FeatureProducts& features, const CoefficientSpace& space, AnyLossProblem problem);
  LinearSolution minimise_loss_by_rows(Matrix<double> K, AnyLossProblem problem);
  AnyLossProblem loss_problem();

  void prepare();  // summary, transform, kernel, outputs
  bool squared_loss() const { return std::holds_alternative<Squared>(options_.loss); }
  SquaredLossProblem problem() const { return {outputs_, options_.alpha, options_.fit_intercept}; }
  IterationOptions iterations() const { return {options_.max_iter, options_.tol}; }
  SolverChoice choice() { return {options_, report_, summary_.rows, rows_.dim_in(), rows_.dim_out(), plan_}; }
  // What fits, as far as it is known without having read the rows, or with their number.
  void plan(std::optional<Index> rows);
  // Keeps to the plan's first way with this solver from here on.
  const MemoryUse& follow(const std::string& solver);

  // The streamed sums of a map's features.
  template <ScalarMap M>
  void sum(const M& map, Moments& moments);
  KernelMachine<T> finish(Map map, const LinearSolution& solution);

  RowSource<T>& rows_;
  const FitOptions& options_;
  const Execution& execution_;
  MemoryPlan plan_;
  Index at_once_ = 0;       // rows of a block
  Index feature_rows_ = 0;  // whose features are held to be summed; 0: as many as the sums choose
  std::optional<sketches::Distribution> sketch_;
  SolveReport report_;
  DataSummary summary_;
  InputTransform transform_;
  std::optional<Kernel> kernel_;
  OutputFactor outputs_;
  Vector<double> origin_, weights_;
  std::shared_ptr<const Moments> moments_;
};

template <Real T>
template <ScalarMap M>
void FitPath<T>::sum(const M& map, Moments& moments) {
  PhaseTimer timer(report_, "gram");
  Execution within = execution_;  // the builder takes a quarter of the budget
  const auto row_bytes = static_cast<std::size_t>(moments.sums.cols()) * sizeof(T);
  if (feature_rows_ > 0) within.memory_budget = 4 * static_cast<std::size_t>(feature_rows_) * row_bytes;
  MomentsBuilder builder(map, moments, within);
  const Index total = rows_.rows().value_or(0);
  rows_.rewind();
  // Whole batches of the builder, about half a second of work each, so that progress is seen to move.
  const double batch_work =
      static_cast<double>(builder.rows_at_once()) * std::pow(static_cast<double>(moments.sums.cols()), 2);
  const auto wanted = static_cast<Index>(std::min(5e10 / batch_work, 16.0));
  const Index batches = std::max<Index>(1, std::min(wanted, at_once_ / builder.rows_at_once()));
  const Index step = batches * builder.rows_at_once();
  for (auto block = rows_.next(step); block.rows > 0; block = rows_.next(step)) {
    builder.add(block);
    execution_.checkpoint({"fitting", block.first_row + block.rows, total});
  }
}

}  // namespace carmina
