// models/fit/fit_pipeline.hpp -- one fit: summary of the rows, kernel, plan, a way from the table, machine.
#pragma once
#include "features/feature_rows.hpp"
#include "models/file/checkpoint_file.hpp"
#include "models/fit/resolve_kernel.hpp"
#include "models/machine/machine_map.hpp"
#include "models/plan/memory_plan.hpp"
#include "solvers/squared/alpha_path_solve.hpp"
#include "solvers/squared/squared_loss.hpp"

#include <carmina/models/alpha_path.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace carmina {

// A squared-loss problem with its system in memory: sums over the rows of features, or a kernel matrix of the rows.
template <Real T>
struct PosedSystem {
  // Features of any rows, and an expansion where the kernel is not separable.
  std::function<std::unique_ptr<FeatureRows>(const DataRows<T>& rows)> features = {};
  std::optional<Expansion> expansion = {};

  // Features whose sums are kept with the machine, of a problem that has a matrix.
  std::function<std::unique_ptr<FeatureRows>(const DataRows<T>& rows)> kept_features = {};

  // Or K (n, n), lower triangle; (n p, n p) where the kernel is not separable.
  Matrix<double> K = {};
  double rounding = 0;  // of K's entries, in units of the largest, where they were computed in float
  double digits = std::numeric_limits<double>::epsilon();  // of what predictions multiply the rows' coefficients by
  DualRows dual = {};

  bool primal() const { return static_cast<bool>(features); }
};

// The same with what makes a machine of its solution.
template <Real T>
struct PosedProblem : PosedSystem<T> {
  typename KernelMachine<T>::Map map;

  // From coefficients of the problem, several solutions side by side, to those of the map; none: they are the same.
  std::function<Matrix<double>(const Matrix<double>& coefficients)> to_map = {};

  explicit PosedProblem(typename KernelMachine<T>::Map of_machine) : map(std::move(of_machine)) {}
};

template <Real T>
struct Way;

template <Real T>
class FitPipeline {
 public:
  using Map = typename KernelMachine<T>::Map;

  FitPipeline(DataRows<T>& rows, const FitOptions& options);

  KernelMachine<T> run();
  MachinePath<T> run_path(const std::vector<double>& alphas, bool leave_one_out);
  // After run_path: `noise` and `left_out` for one of its alphas.
  void leave_out_at(double alpha);
  // For cross-validation: the problem of all rows, or nothing where none is posed or the budget does not hold the
  // folds.
  std::optional<PosedProblem<T>> pose_folds(Index folds);

  // What ways need.
  const FitOptions& options;
  const Execution& execution;
  DataRows<T>& rows;
  SolveReport report;
  FitTask task;  // with its sizes, once prepared
  DataSummary summary;
  InputTransform transform;
  std::optional<Kernel> kernel;
  OutputFactor outputs;                    // of a separable kernel
  Vector<double> origin;                   // of the targets: their mean, or zero without an intercept
  std::shared_ptr<const Moments> moments;  // to be kept with the machine
  Vector<double> weights;                  // of the rows of an exact machine
  std::optional<double> known_noise;       // its variance, where it was learnt with alpha
  Vector<double> noise;                    // to be kept, as below (FitRecord)
  Matrix<double> left_out;
  std::vector<PatternRecord> patterns;
  CheckpointFile* checkpoint = nullptr;  // keeps the state of loops
  std::string sums_name = "sums";        // theirs in it

  const ScalarKernel& scalar() const { return kernel->terms()[0].scalar; }
  IterationOptions iterations() const { return {options.max_iter, options.tol, checkpoint}; }
  SquaredLossProblem problem() const { return {outputs, task.alpha, options.fit_intercept}; }
  HeldRows<T> held_rows() const;  // all with a positive weight
  DualRows dual_rows(const HeldRows<T>& held) const;
  FourierMap<T> sample_map() const;
  // Sums of features, kept with the machine where that is asked for.
  Moments sum(const FeatureRows& features);
  KernelMachine<T> finish(Map map, const LinearSolution& solution);
  // The problem of the outputs of one pattern alone: their part of A, and of the origin.
  OutputFactor outputs_of(const TargetPattern& pattern) const;
  Vector<double> origin_of(const TargetPattern& pattern) const { return origin(pattern.columns); }
  // A way that factors its system in the place of one that failed, where the plan has such a way.
  bool may_factor() const { return plan_.factored() != nullptr; }
  KernelMachine<T> factor_instead(const std::string& reason);

 private:
  void require_more_than_rounding(const Map& map, const Matrix<double>& coefficients) const;
  void see_missing_targets();  // what `task` must know of them
  void prepare();              // plan, summary, transform, kernel, outputs, plan again
  void plan(std::optional<Index> known_rows);
  // The way to take, and why; block sizes follow from its plan.
  const PlannedWay& choose();
  void adopt(const PlannedWay& planned);

  MemoryPlan plan_;
  // Of run_path: its way and, in the primal, its sums and features.
  const Way<T>* path_way_ = nullptr;
  std::optional<PosedProblem<T>> path_problem_;
  std::optional<Moments> path_sums_;
};

}  // namespace carmina
