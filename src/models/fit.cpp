// models/fit.cpp -- walks the path of a fit and makes the machine.
#include "fit_path.hpp"
#include "learn_from_rows.hpp"
#include "repeated_targets.hpp"

#include <carmina/core/error.hpp>

namespace carmina {

template <Real T>
void FitPath<T>::plan(std::optional<Index> rows) {
  plan_ = plan_memory<T>(options_, rows_, rows);
  at_once_ = plan_.ways.empty() ? block_rows(rows_.dim_in() + rows_.dim_out(), execution_) : plan_.ways[0].rows_at_once;
}

template <Real T>
const MemoryUse& FitPath<T>::follow(const std::string& solver) {
  const MemoryUse* way = plan_.find(solver);
  require(way != nullptr, "fit: no memory was planned for solver '{}'", solver);
  at_once_ = way->rows_at_once;
  feature_rows_ = way->feature_rows;
  report_.memory = way->text(plan_.limit);
  return *way;
}

template <Real T>
void FitPath<T>::prepare() {
  plan(rows_.rows());
  {
    PhaseTimer timer(report_, "summary");
    summary_ = summarize(rows_, options_.fill_missing, options_.coupling == OutputCoupling::covariance, at_once_,
                         execution_, !options_.kernel && !options_.length_scale);
    transform_ = input_transform(summary_, options_, options_.differential());
    kernel_ = resolve_kernel(summary_, transform_, options_);
    summary_.sample.resize(0, 0);
  }
  plan(summary_.rows);
  const Index p = rows_.dim_out();
  kernel_->check_dimensions(rows_.dim_in(), p);
  origin_ = options_.fit_intercept ? summary_.target_mean : Vector<double>(Vector<double>::Zero(p));
  const Term* term = kernel_->separable();
  if (term) outputs_ = output_factor(*term, p);
}

template <Real T>
KernelMachine<T> FitPath<T>::run() {
  prepare();
  const Term* term = kernel_->separable();
  const bool exact = options_.approximation == "exact";
  if (!term && (sketch_ || (exact && !squared_loss()))) return fit_blocks();
  if (sketch_) return fit_sketched(term->scalar);
  if (!squared_loss()) return exact ? fit_exact_any_loss(term->scalar) : fit_fourier_any_loss();
  if (term && exact) return fit_exact(term->scalar);
  if (term && !choice().iterative_only()) return fit_fourier();
  outputs_ = {};
  return exact ? fit_exact_blocks() : fit_fourier_expanded();
}

template <Real T>
KernelMachine<T> FitPath<T>::finish(Map map, const LinearSolution& solution) {
  FitRecord record;
  record.approximation = options_.approximation;
  record.n_components = options_.approximation == "exact" ? 0 : options_.n_components;
  if (sketch_) {
    record.approximation = sketch_name(*sketch_);
    record.n_components = n_components(*sketch_);
    record.sketch = sketch_parameters(*sketch_);
  }
  record.loss = options_.loss;
  record.non_crossing = options_.non_crossing;
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

template class FitPath<float>;
template class FitPath<double>;

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(RowSource<T>& rows, const FitOptions& options) {
  options.check();
  require(rows.dim_out() > 0, "fit: Y has no columns");
  const auto* pinball = std::get_if<Pinball>(&options.loss);
  const auto levels = pinball ? static_cast<Index>(pinball->levels.size()) : 1;
  if (rows.dim_out() == 1 && levels > 1) {
    RepeatedTargets<T> repeated(rows, levels);
    KernelMachine<T> machine = FitPath<T>(repeated, options).run();
    machine.record_.joint_quantiles = true;
    return machine;
  }
  std::visit([&](const auto& loss) { loss.check(rows.dim_out()); }, options.loss);
  if (options.by_evidence) {
    SolveReport learning;
    FitOptions learnt = options;
    const LearntKernel found = learn_from_rows(rows, options, learning);
    learnt.by_evidence = false;
    learnt.kernel = found.kernel;
    learnt.alpha = found.alpha;
    KernelMachine<T> machine = FitPath<T>(rows, learnt).run();
    FitRecord& record = machine.record_;
    record.evidence = found.evidence;
    record.report.seconds.insert(record.report.seconds.begin(), learning.seconds.begin(), learning.seconds.end());
    if (!found.converged) {
      record.report.message += format_text("{}the evidence was still rising after {} steps",
                                           record.report.message.empty() ? "" : "; ", found.iterations);
    }
    return machine;
  }
  if (options.alpha_by) {
    const auto path = fit_path(rows, options, options.alphas.empty() ? path_alphas() : options.alphas,
                               *options.alpha_by == AlphaScore::leave_one_out);
    const std::size_t best = best_point(path.points(), *options.alpha_by);
    KernelMachine<T> machine = path.machine(best);
    std::string& message = machine.record_.report.message;
    const std::string end = end_of_alphas(path.points(), best);
    message += (message.empty() || end.empty() ? "" : "; ") + end;
    return machine;
  }
  return FitPath<T>(rows, options).run();
}
template KernelMachine<float> KernelMachine<float>::fit(RowSource<float>&, const FitOptions&);
template KernelMachine<double> KernelMachine<double>::fit(RowSource<double>&, const FitOptions&);

}  // namespace carmina
