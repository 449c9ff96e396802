// models/fit.cpp -- the one path: summary of the rows, kernel, map, solver, machine.
#include "../solvers/subset_preconditioner.hpp"
#include "row_matrices.hpp"
#include "summary.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/solvers/iterative.hpp>

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
  return std::clamp<Index>(static_cast<Index>(allowed / (static_cast<double>(columns) * 24)) / 4096 * 4096, 4096, 1 << 16);
}

InputTransform input_transform(const DataSummary& summary, const FitOptions& options, bool common_factor) {
  InputTransform transform;
  if (options.fill_missing) transform.fill = summary.input_mean;
  if (options.scale_inputs) {
    transform.shift = summary.input_mean;
    // A column that does not vary (to rounding of its values) is only centred. Derivatives along different inputs stay
    // comparable only under one factor for all.
    const double common = std::sqrt(summary.input_deviation.array().square().mean());
    transform.factor = Vector<double>::NullaryExpr(summary.input_mean.size(), [&](Index j) {
      const double deviation = common_factor ? common : summary.input_deviation[j];
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
  const ScalarKernel scalar = make_scalar_kernel(options.kernel_name, width, options.kernel_parameters);
  switch (options.coupling) {
    case OutputCoupling::none:
      return Kernel(Term{1, scalar, Uncoupled{}});
    case OutputCoupling::curl_free:
      return CurlFree(scalar);
    case OutputCoupling::divergence_free:
      return DivergenceFree(scalar);
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
      : rows_(rows), options_(options), execution_(options.execution),
        at_once_(block_rows(rows.dim_in() + rows.dim_out(), options.execution)) {}

  KernelMachine<T> run() {
    {
      PhaseTimer timer(report_, "summary");
      summary_ = summarize(rows_, options_.fill_missing, options_.coupling == OutputCoupling::covariance, at_once_, execution_);
      transform_ = input_transform(summary_, options_, options_.differential());
      kernel_ = resolve_kernel(summary_, transform_, options_);
    }
    const Index p = rows_.dim_out();
    kernel_->check_dimensions(rows_.dim_in(), p);
    origin_ = options_.fit_intercept ? summary_.target_mean : Vector<double>(Vector<double>::Zero(p));
    const bool exact = options_.approximation == "exact";
    if (const Term* term = kernel_->separable(); term && (exact || !iterative_only())) {
      outputs_ = output_factor(*term, p);
      return exact ? fit_exact(term->scalar) : fit_fourier();
    }
    return exact ? fit_exact_blocks() : fit_fourier_expanded();
  }

 private:
  SquaredLossProblem problem() const { return {outputs_, options_.alpha, options_.fit_intercept}; }
  IterationOptions iterations() const { return {options_.max_iter, options_.tol}; }

  // Solvers of solvers/iterative.hpp: of Fourier models alone, one form for every kernel.
  bool iterative_only() const {
    return options_.solver == "lsmr" || options_.solver == "idr" || options_.solver == "sgd" || options_.solver == "adam";
  }

  // "direct" unless its matrix of the given order does not fit, cg was asked for, or cg is predicted to be much faster.
  bool use_direct(Index order, double other_bytes, bool cg_is_faster = false) {
    const double needed = 8.0 * static_cast<double>(order) * static_cast<double>(order) + other_bytes;
    const double limit = memory_limit(execution_);
    if (options_.solver == "direct") {
      require(needed <= limit, "fit: solver 'direct' needs {} for a matrix of order {}, the memory budget is {}; use solver 'cg'",
              format_bytes(needed), order, format_bytes(limit));
    }
    const bool fits = needed <= limit;
    const bool direct = options_.solver == "direct" || (options_.solver == "auto" && fits && !cg_is_faster);
    report_.solver = direct ? "direct" : "cg";
    if (options_.solver != "auto") {
      report_.reason = fmt::format("{}: asked for", report_.solver);
    } else if (direct) {
      report_.reason = fmt::format("direct: a matrix of order {} fits in memory", order);
    } else if (!fits) {
      report_.reason = fmt::format("cg: a matrix of order {} needs {}, the memory budget is {}", order, format_bytes(needed),
                                   format_bytes(limit));
    } else {
      report_.reason = fmt::format("cg: faster than factoring a matrix of order {}, by the number of operations", order);
    }
    return direct;
  }

  // Operations of the Gram matrix and of factoring a system of the given order, against 300 products with the features,
  // whose evaluation counts 20 each and whose operations take about 8 times as long as those of a factorisation.
  bool cg_is_faster(Index features, Index order) const {
    const double n = static_cast<double>(summary_.rows), m = static_cast<double>(features), c = static_cast<double>(order);
    const double d = static_cast<double>(rows_.dim_in()), p = static_cast<double>(rows_.dim_out());
    return n * m * m + c * c * c / 3 > 8 * 300 * n * m * (4 * p + 2 * d + 20);
  }

  // The same with the preconditioner of a subset of rows, which leaves about one iteration per half digit. One product costs
  // as much as 40 + d + 8 p operations of a Gram matrix for each feature of each row (measured, benchmarks/micro); fits of
  // less than a second are not worth the choice.
  bool preconditioned_cg_is_faster(Index features) const {
    const double n = static_cast<double>(summary_.rows), m = static_cast<double>(features);
    if (!SubsetPreconditioner<FourierMap<T>>::worthwhile(summary_.rows, features) || n * m * m < 2e11) return false;
    const double d = static_cast<double>(rows_.dim_in()), p = static_cast<double>(rows_.dim_out());
    const double products = 3 - 2.2 * std::log10(auto_iterations().tol);
    const double subset = SubsetPreconditioner<FourierMap<T>>::rows_per_feature * m * m * m + m * m * m / 3;
    return products * n * m * (40 + d + 8 * p) + subset < 0.8 * (n * m * m + m * m * m / 3);
  }
  // When `auto` takes cg where direct would do, the result is as good as direct's: to the precision of the products.
  IterationOptions auto_iterations() const {
    return {options_.max_iter, std::min(options_.tol, std::same_as<T, float> ? 1e-6 : 1e-11)};
  }

  // weight A of the term K = weight k A
  static OutputFactor output_factor(const Term& term, Index p) {
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) return factor_output_matrix(term.weight * matrix->A());
    if (term.weight == 1) return {};
    return factor_output_matrix(term.weight * Matrix<double>::Identity(p, p));
  }

  FourierMap<T> sample_map() const {
    const Matrix<double> W =
        sample_term_frequencies(*kernel_, rows_.dim_in(), options_.n_components, options_.seed, options_.sampling);
    return {W.template cast<T>(), transform_};
  }

  KernelMachine<T> fit_exact(const ScalarKernel& scalar) {
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
      const MatrixColumns columns{Vector<double>::Ones(n), [&](Index i) -> Vector<double> {
                                    Matrix<T> out(n, 1);
                                    evaluate(KernelMap<T>(scalar, all.X.row(i), transform_), all.X, View<T>(out), execution_);
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
    if (!use_direct(dual ? n : m + rows_.dim_out() + 1, features, !dual && preconditioned_cg_is_faster(m))) {
      PhaseTimer timer(report_, "cg");
      const IterationOptions limits = options_.solver == "auto" ? auto_iterations() : iterations();
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
    const ExpandedProblem<FourierMap<T>> task{map,     expansion,      rows_,                 at_once_,
                                              origin_, options_.alpha, options_.fit_intercept};
    const double n = static_cast<double>(rows_.rows().value_or(summary_.rows)), limit = memory_limit(execution_);
    if (solver == "lsmr") {
      const double needed = 16 * n * static_cast<double>(rows_.dim_out());
      require(needed <= limit, "fit: solver 'lsmr' needs {} for vectors over the rows, the memory budget is {}; use solver 'cg'",
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
    if (iterative_only()) {
      solution = iterate(map, expansion);
    } else if (use_direct(expansion.dim_coef(), gram_bytes, cg_is_faster(m, expansion.dim_coef()))) {
      Moments moments(m, origin_);
      sum(map, moments);
      PhaseTimer timer(report_, "solve");
      solution = solve_expanded(moments, expansion, options_.alpha, options_.fit_intercept, execution_, report_);
    } else {
      PhaseTimer timer(report_, "cg");
      solution = solve_expanded_cg(map, expansion, rows_, at_once_, origin_, options_.alpha, options_.fit_intercept, iterations(),
                                   execution_, report_);
    }
    return finish(std::move(map), solution);
  }

  KernelMachine<T> fit_exact_blocks() {
    auto all = gather(rows_, summary_, origin_, at_once_);
    const Index n = summary_.rows, p = rows_.dim_out();
    OperatorMap<T> map(*kernel_, std::move(all.X), p, transform_);
    LinearSolution solution;
    if (use_direct(n * p, 0)) {
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
      solution = solve_dual_blocks_cg(product, all.dual, options_.alpha, options_.fit_intercept, iterations(), execution_,
                                      report_, columns);
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
    const Index step = std::max(builder.rows_at_once(), at_once_ / builder.rows_at_once() * builder.rows_at_once());
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
