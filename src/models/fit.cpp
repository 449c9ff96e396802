// models/fit.cpp -- the one path: summary of the rows, kernel, map, solver, machine.
#include "preparation.hpp"
#include "row_matrices.hpp"
#include "solver_choice.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/solvers/iterative.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

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
      transform_ = input_transform(summary_, options_, options_.differential());
      kernel_ = resolve_kernel(summary_, transform_, options_);
    }
    const Index p = rows_.dim_out();
    kernel_->check_dimensions(rows_.dim_in(), p);
    origin_ = options_.fit_intercept ? summary_.target_mean : Vector<double>(Vector<double>::Zero(p));
    const bool exact = options_.approximation == "exact";
    if (const Term* term = kernel_->separable(); term && (exact || !choice().iterative_only())) {
      outputs_ = output_factor(*term, p);
      return exact ? fit_exact(term->scalar) : fit_fourier();
    }
    return exact ? fit_exact_blocks() : fit_fourier_expanded();
  }

 private:
  SquaredLossProblem problem() const { return {outputs_, options_.alpha, options_.fit_intercept}; }
  IterationOptions iterations() const { return {options_.max_iter, options_.tol}; }
  SolverChoice choice() { return {options_, report_, summary_.rows, rows_.dim_in(), rows_.dim_out()}; }

  FourierMap<T> sample_map() const {
    const Matrix<double> W =
        sample_term_frequencies(*kernel_, rows_.dim_in(), options_.n_components, options_.seed, options_.sampling);
    return {W.template cast<T>(), transform_};
  }

  KernelMachine<T> fit_exact(const ScalarKernel& scalar) {
    const Index n = summary_.rows;
    auto all = gather(rows_, summary_, origin_, at_once_);
    LinearSolution solution;
    if (choice().use_direct(n, 0)) {
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
      const MatrixColumns columns{Vector<double>::Ones(n), [&](Index i) -> Vector<double> {
                                    Matrix<T> out(n, 1);
                                    evaluate(KernelMap<T>(scalar, all.X.row(i), transform_), all.X, View<T>(out),
                                             execution_);
                                    return out.template cast<double>();
                                  }};
      solution = solve_dual_cg(product, all.dual, problem(), iterations(), execution_, report_, columns);
    }
    weights_ = all.dual.weights;
    return finish(KernelMap<T>(scalar, std::move(all.X), transform_), solution);
  }

  KernelMachine<T> fit_fourier() {
    FourierMap<T> map = sample_map();
    const Index m = map.n_features(), n = summary_.rows;
    LinearSolution solution;
    const bool dual = n < m;
    const double features = dual ? 8.0 * static_cast<double>(n) * static_cast<double>(m) : 0.0;
    if (!choice().use_direct(dual ? n : m + rows_.dim_out() + 1, features,
                             !dual && choice().preconditioned_cg_is_faster(m, auto_tolerance))) {
      PhaseTimer timer(report_, "cg");
      IterationOptions limits = iterations();
      if (options_.solver == "auto") limits.tol = std::min(limits.tol, auto_tolerance);
      solution = solve_primal_cg(map, rows_, at_once_, origin_, problem(), limits, execution_, report_);
    } else if (dual) {
      solution = fourier_dual(map);
    } else {
      Moments moments(m, origin_);
      sum(map, moments);
      PhaseTimer timer(report_, "solve");
      solution = solve_primal(moments, problem(), execution_, report_);
    }
    return finish(std::move(map), solution);
  }

  LinearSolution iterate(const FourierMap<T>& map, const Expansion& expansion) {
    const std::string& solver = options_.solver;
    PhaseTimer timer(report_, solver);
    report_.reason = fmt::format("{}: asked for", solver);
    const ExpandedProblem<FourierMap<T>> task{
        map, expansion, rows_, at_once_, origin_, options_.alpha, options_.fit_intercept};
    const double n = static_cast<double>(rows_.rows().value_or(summary_.rows)), limit = memory_limit(execution_);
    if (solver == "lsmr") {
      const double needed = 16 * n * static_cast<double>(rows_.dim_out());
      require(needed <= limit,
              "fit: solver 'lsmr' needs {} for vectors over the rows, the memory budget is {}; use solver 'cg'",
              format_bytes(needed), format_bytes(limit));
      return solve_expanded_lsmr(task, iterations(), execution_, report_);
    }
    if (solver == "idr") return solve_expanded_idr(task, options_.seed, iterations(), execution_, report_);
    const bool keep_rows = n * static_cast<double>(rows_.dim_in() + 1) * sizeof(T) <= limit / 4;
    const BatchOptions batches{solver == "sgd" ? StepRule::sgd : StepRule::adam, options_.seed, keep_rows};
    return solve_expanded_batches(task, batches, iterations(), execution_, report_);
  }

  // Kernels whose outputs do not come apart: curl-free, divergence-free, sums; and any kernel for iterative solvers.
  KernelMachine<T> fit_fourier_expanded() {
    FourierMap<T> map = sample_map();
    const Expansion expansion(*kernel_, map.frequencies().template cast<double>(), rows_.dim_out());
    const Index m = map.n_features();
    LinearSolution solution;
    const double gram_bytes = 8.0 * static_cast<double>(m) * static_cast<double>(m);
    if (choice().iterative_only()) {
      solution = iterate(map, expansion);
    } else if (choice().use_direct(expansion.dim_coef(), gram_bytes,
                                   choice().plain_cg_is_faster(m, expansion.dim_coef()))) {
      Moments moments(m, origin_);
      sum(map, moments);
      PhaseTimer timer(report_, "solve");
      solution = solve_expanded(moments, expansion, options_.alpha, options_.fit_intercept, execution_, report_);
    } else {
      PhaseTimer timer(report_, "cg");
      solution = solve_expanded_cg(map, expansion, rows_, at_once_, origin_, options_.alpha, options_.fit_intercept,
                                   iterations(), execution_, report_);
    }
    return finish(std::move(map), solution);
  }

  KernelMachine<T> fit_exact_blocks() {
    auto all = gather(rows_, summary_, origin_, at_once_);
    const Index n = summary_.rows, p = rows_.dim_out();
    OperatorMap<T> map(*kernel_, std::move(all.X), p, transform_);
    LinearSolution solution;
    if (choice().use_direct(n * p, 0)) {
      Matrix<double> K;
      {
        PhaseTimer timer(report_, "kernel");
        K = map.gram(execution_);
      }
      PhaseTimer timer(report_, "solve");
      solution = solve_dual_blocks(K, all.dual, options_.alpha, options_.fit_intercept, execution_, report_);
    } else {
      PhaseTimer timer(report_, "cg");
      const auto product = [&](const Matrix<double>& P, Matrix<double>& KP) {
        KP.resize(n * p, P.cols());
        Matrix<T> out(n, p);
        for (Index j = 0; j < P.cols(); ++j) {
          const Vector<double> column = P.col(j);
          const Matrix<T> C = Eigen::Map<const Matrix<double>>(column.data(), n, p).template cast<T>();
          map.apply(map.anchors(), C, out, execution_);
          const Matrix<double> wide = out.template cast<double>();
          KP.col(j) = Eigen::Map<const Vector<double>>(wide.data(), n * p);
        }
      };
      const auto column = [&](Index k) -> Vector<double> {
        Matrix<T> C = Matrix<T>::Zero(1, p), out(n, p);
        C(0, k % p) = 1;
        OperatorMap<T>(*kernel_, map.anchors().row(k / p), p, transform_).apply(map.anchors(), C, out, execution_);
        const Matrix<double> wide = out.template cast<double>();
        return Eigen::Map<const Vector<double>>(wide.data(), n * p);
      };
      // K(x, x) is the same for every x.
      MatrixColumns columns{Vector<double>(n * p), column};
      for (Index a = 0; a < p; ++a) columns.diagonal(Eigen::seq(a, Eigen::last, p)).setConstant(column(a)[a]);
      solution = solve_dual_blocks_cg(product, all.dual, options_.alpha, options_.fit_intercept, iterations(),
                                      execution_, report_, columns);
    }
    weights_ = all.dual.weights;
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
    if (options_.keep_moments) {
      Moments moments(map.n_features(), origin_);
      sum(map, moments);
    }
    solution.coefficients = transposed_product(phi, solution.coefficients, execution_);
    return solution;
  }

  void sum(const FourierMap<T>& map, Moments& moments) {
    PhaseTimer timer(report_, "gram");
    MomentsBuilder builder(map, moments, execution_);
    const Index total = rows_.rows().value_or(0);
    rows_.rewind();
    // Whole batches of the builder, about half a second of work each, so that progress is seen to move.
    const double batch_work =
        static_cast<double>(builder.rows_at_once()) * std::pow(static_cast<double>(moments.sums.cols()), 2);
    const auto batches = static_cast<Index>(std::max(1.0, std::min(5e10 / batch_work, 16.0)));
    const Index step = batches * builder.rows_at_once();
    for (auto block = rows_.next(step); block.rows > 0; block = rows_.next(step)) {
      builder.add(block);
      execution_.checkpoint({"fitting", block.first_row + block.rows, total});
    }
    if (options_.keep_moments) moments_ = std::make_shared<const Moments>(moments);
  }

  KernelMachine<T> finish(typename KernelMachine<T>::Map map, const LinearSolution& solution) {
    FitRecord record;
    record.approximation = options_.approximation;
    record.n_components = options_.approximation == "exact" ? 0 : options_.n_components;
    record.sampling = options_.sampling;
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
    record.moments = moments_;
    record.weights = weights_;
    Matrix<T> root;
    if (!outputs_.identity()) root = outputs_.root().template cast<T>();
    return KernelMachine<T>(*kernel_, std::move(map), solution.coefficients.template cast<T>(), std::move(root),
                            solution.intercept.template cast<T>(), std::move(record));
  }

  // When `auto` takes cg where direct would do, the result is as good as direct's: to the precision of the products.
  static constexpr double auto_tolerance = std::same_as<T, float> ? 1e-6 : 1e-11;

  RowSource<T>& rows_;
  const FitOptions& options_;
  const Execution& execution_;
  Index at_once_;
  SolveReport report_;
  DataSummary summary_;
  InputTransform transform_;
  std::optional<Kernel> kernel_;
  OutputFactor outputs_;
  Vector<double> origin_, weights_;
  std::shared_ptr<const Moments> moments_;
};

}  // namespace

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(RowSource<T>& rows, const FitOptions& options) {
  options.check();
  require(rows.dim_out() > 0, "fit: Y has no columns");
  return Fit<T>(rows, options).run();
}
template KernelMachine<float> KernelMachine<float>::fit(RowSource<float>&, const FitOptions&);
template KernelMachine<double> KernelMachine<double>::fit(RowSource<double>&, const FitOptions&);

}  // namespace carmina
