// models/fit.cpp -- the one path: summary of the rows, kernel, map, solver, machine.
#include "row_matrices.hpp"
#include "summary.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/solvers/squared_loss.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

double memory_limit(const Execution& execution) {
  if (execution.memory_budget > 0) return static_cast<double>(execution.memory_budget);
  return 0.8 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Rows read from the source together: an eighth of the budget, whole tiles, and short enough to show progress.
Index block_rows(Index columns, const Execution& execution) {
  const double allowed = std::min(memory_limit(execution) / 8, 256e6);
  return std::clamp<Index>(static_cast<Index>(allowed / (static_cast<double>(columns) * 24)) / 4096 * 4096, 4096,
                           1 << 16);
}

InputTransform input_transform(const DataSummary& summary, const FitOptions& options) {
  InputTransform transform;
  if (options.fill_missing) transform.fill = summary.input_mean;
  if (options.scale_inputs) {
    transform.shift = summary.input_mean;
    // A column that does not vary (to rounding of its values) is only centred.
    transform.factor = Vector<double>::NullaryExpr(summary.input_mean.size(), [&](Index j) {
      const double deviation = summary.input_deviation[j];
      return deviation > 1e-12 * std::abs(summary.input_mean[j]) ? 1 / deviation : 1.0;
    });
  }
  return transform;
}

Kernel resolve_kernel(const DataSummary& summary, const InputTransform& transform, const FitOptions& options) {
  if (options.kernel) return *options.kernel;
  LengthScale width = options.length_scale.value_or(LengthScale(1.0));
  if (!options.length_scale) {
    Matrix<double> sample(summary.sample.rows(), summary.sample.cols());
    transform.apply(summary.sample.data(), sample.cols(), sample.rows(), sample.cols(), sample.data());
    width = median_distance(sample, summary.sample_weights, options.execution);
  }
  ScalarKernel scalar = make_scalar_kernel(options.kernel_name, width);
  switch (options.coupling) {
    case OutputCoupling::none:
      return std::visit([](auto k) { return Kernel(std::move(k)); }, scalar);
    case OutputCoupling::identity: {
      const Index p = summary.target_mean.size();
      return Decomposable(scalar, Matrix<double>::Identity(p, p));
    }
    case OutputCoupling::covariance:
      return Decomposable(scalar, summary.target_covariance);
    case OutputCoupling::matrix:
      return Decomposable(scalar, options.output_matrix);
  }
  fail("unknown output coupling");
}

template <Real T>
class Fit {
 public:
  Fit(RowSource<T>& rows, const FitOptions& options)
      : rows_(rows),
        options_(options),
        execution_(options.execution),
        at_once_(block_rows(rows.dim_in() + rows.dim_out(), options.execution)) {}

  KernelMachine<T> run() {
    {
      PhaseTimer timer(report_, "summary");
      summary_ = summarize(rows_, options_.fill_missing, options_.coupling == OutputCoupling::covariance, at_once_,
                           execution_);
      transform_ = input_transform(summary_, options_);
      kernel_ = resolve_kernel(summary_, transform_, options_);
    }
    const Index p = rows_.dim_out();
    if (const auto* A = output_matrix(*kernel_)) {
      require(A->rows() == p, "fit: the output matrix A is {} x {}, Y has {} columns", A->rows(), A->cols(), p);
      outputs_ = factor_output_matrix(*A);
    }
    origin_ = options_.fit_intercept ? summary_.target_mean : Vector<double>(Vector<double>::Zero(p));
    return options_.approximation == "exact" ? fit_exact() : fit_fourier();
  }

 private:
  SquaredLossProblem problem() const { return {outputs_, options_.alpha, options_.fit_intercept}; }
  CgOptions cg() const { return {options_.max_iter, options_.tol}; }

  // "direct" unless its matrix of the given order does not fit, or cg was asked for.
  bool use_direct(Index order, double other_bytes) {
    const double needed = 8.0 * static_cast<double>(order) * static_cast<double>(order) + other_bytes;
    const double limit = memory_limit(execution_);
    if (options_.solver == "direct") {
      require(needed <= limit,
              "fit: solver 'direct' needs {} for a matrix of order {}, the memory budget is {}; use solver 'cg'",
              format_bytes(needed), order, format_bytes(limit));
    }
    const bool direct = options_.solver == "direct" || (options_.solver == "auto" && needed <= limit);
    report_.solver = direct ? "direct" : "cg";
    return direct;
  }

  KernelMachine<T> fit_exact() {
    const ScalarKernel scalar = scalar_part(*kernel_);
    const Index n = summary_.rows;
    auto all = gather(rows_, summary_, origin_, at_once_);
    LinearSolution solution;
    if (use_direct(n, 0)) {
      Matrix<double> K;
      {
        PhaseTimer timer(report_, "kernel");
        K = exact_gram(scalar, all.X, transform_, execution_);
      }
      PhaseTimer timer(report_, "solve");
      solution = solve_dual(K, all.dual, problem(), execution_, report_);
    } else {
      PhaseTimer timer(report_, "cg");
      const KernelMap<T> map(scalar, all.X, transform_);
      const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) {
        Matrix<T> out(n, P.cols());
        apply(map, all.X, P.template cast<T>(), View<T>(out), execution_);
        KP = out.template cast<double>();
      };
      solution = solve_dual_cg(product, all.dual, problem(), cg(), execution_, report_);
    }
    return finish(KernelMap<T>(scalar, std::move(all.X), transform_), solution);
  }

  KernelMachine<T> fit_fourier() {
    FourierMap<T> map(scalar_part(*kernel_), rows_.dim_in(), options_.n_components, options_.seed, transform_);
    const Index m = map.n_features(), n = summary_.rows;
    LinearSolution solution;
    if (options_.solver != "cg" && n < m) {
      use_direct(n, 8.0 * static_cast<double>(n) * static_cast<double>(m));
      solution = fourier_dual(map);
    } else if (use_direct(m + rows_.dim_out() + 1, 0)) {
      Moments moments(m, origin_);
      sum(map, moments);
      PhaseTimer timer(report_, "solve");
      solution = solve_primal(moments, problem(), execution_, report_);
    } else {
      PhaseTimer timer(report_, "cg");
      solution = solve_primal_cg(map, rows_, at_once_, origin_, problem(), cg(), execution_, report_);
    }
    return finish(std::move(map), solution);
  }

  // SPEC 1d for N < 2D: the dual with K = phi phiᵀ, then Theta = phiᵀ C.
  LinearSolution fourier_dual(const FourierMap<T>& map) {
    const auto all = gather(rows_, summary_, origin_, at_once_);
    Matrix<T> phi(all.X.rows(), map.n_features());
    Matrix<double> K;
    {
      PhaseTimer timer(report_, "features");
      evaluate(map, all.X, View<T>(phi), execution_);
      K = dual_gram(phi, execution_);
    }
    PhaseTimer timer(report_, "solve");
    LinearSolution solution = solve_dual(K, all.dual, problem(), execution_, report_);
    solution.coefficients = transposed_product(phi, solution.coefficients, execution_);
    return solution;
  }

  void sum(const FourierMap<T>& map, Moments& moments) {
    PhaseTimer timer(report_, "gram");
    MomentsBuilder builder(map, moments, execution_);
    const Index total = rows_.rows().value_or(0);
    rows_.rewind();
    const Index step = std::max(builder.rows_at_once(), at_once_ / builder.rows_at_once() * builder.rows_at_once());
    for (auto block = rows_.next(step); block.rows > 0; block = rows_.next(step)) {
      builder.add(block);
      execution_.checkpoint({"fitting", block.first_row + block.rows, total});
    }
  }

  KernelMachine<T> finish(typename KernelMachine<T>::Map map, const LinearSolution& solution) {
    FitRecord record;
    record.approximation = options_.approximation;
    record.n_components = options_.approximation == "exact" ? 0 : options_.n_components;
    record.alpha = options_.alpha;
    record.fit_intercept = options_.fit_intercept;
    record.scale_inputs = options_.scale_inputs;
    record.fill_missing = options_.fill_missing;
    record.seed = options_.seed;
    record.rows = summary_.rows;
    record.target_mean = summary_.target_mean;
    record.input_names = options_.input_names;
    record.target_names = options_.target_names;
    record.report = report_;
    Matrix<T> root;
    if (!outputs_.identity()) root = outputs_.root().template cast<T>();
    return KernelMachine<T>(*kernel_, std::move(map), solution.coefficients.template cast<T>(), std::move(root),
                            solution.intercept.template cast<T>(), std::move(record));
  }

  RowSource<T>& rows_;
  const FitOptions& options_;
  const Execution& execution_;
  Index at_once_;
  SolveReport report_;
  DataSummary summary_;
  InputTransform transform_;
  std::optional<Kernel> kernel_;
  OutputFactor outputs_;
  Vector<double> origin_;
};

}  // namespace

void FitOptions::check() const {
  require(approximation == "fourier" || approximation == "exact",
          "approximation must be 'fourier' or 'exact', found '{}'", approximation);
  require(solver == "auto" || solver == "direct" || solver == "cg",
          "solver must be 'auto', 'direct' or 'cg', found '{}'", solver);
  require(alpha >= 0 && std::isfinite(alpha), "alpha must be finite and not negative, found {}", alpha);
  if (approximation == "fourier") frequency_count(n_components);
  require(max_iter >= 1, "max_iter must be at least 1, found {}", max_iter);
  require(tol > 0 && std::isfinite(tol), "tol must be positive, found {}", tol);
}

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(RowSource<T>& rows, const FitOptions& options) {
  options.check();
  require(rows.dim_out() > 0, "fit: Y has no columns");
  return Fit<T>(rows, options).run();
}
template KernelMachine<float> KernelMachine<float>::fit(RowSource<float>&, const FitOptions&);
template KernelMachine<double> KernelMachine<double>::fit(RowSource<double>&, const FitOptions&);

}  // namespace carmina
