// models/fit/fit_pipeline.cpp -- prepares a fit, chooses its way and makes the machine.
#include "models/fit/fit_pipeline.hpp"
#include "features/sample_map.hpp"
#include "models/fit/checkpoint_facts.hpp"
#include "models/fit/ways.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {

template <Real T>
FitPipeline<T>::FitPipeline(DataRows<T>& data, const FitOptions& given)
    : options(given), execution(given.execution), rows(data), task(given, data.dim_in(), data.dim_out(), 0, sizeof(T)) {
  task.divided = data.processes() != nullptr;
}

template <Real T>
void FitPipeline<T>::plan(std::optional<Index> known_rows) {
  plan_ = plan_memory(way_table<T>(), task, known_rows, [&](Index count) { return rows.held_bytes(count); });
  rows.read_at_once(plan_.ways.empty() ? block_rows(rows.dim_in() + rows.dim_out(), execution)
                                       : plan_.ways[0].use.rows_at_once);
}

template <Real T>
void FitPipeline<T>::prepare() {
  task.check_divided();
  plan(rows.known_rows());
  {
    PhaseTimer timer(report, "summary");
    summary = summarize(rows, options.fill_missing, options.needs_covariance(), execution,
                        !options.kernel && !options.length_scale, task.squared ? nullptr : &options.loss,
                        options.target_names);
    check_input_values(summary, options.input_names);
    transform = options.transform ? *options.transform : input_transform(summary, options, options.differential());
    kernel = resolve_kernel(summary, transform, options);
    summary.sample.resize(0, 0);
  }
  require(summary.target_mean.allFinite(), "fit: the targets are too large to be added up; divide them by one number");
  constexpr double least_weight = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  require(summary.weight >= least_weight,
          "fit: the weights add up to {:.3g}, where {} has no digits left; multiply them and alpha by one number",
          summary.weight, std::same_as<T, float> ? "float32" : "float64");
  task.n = static_cast<double>(summary.rows);
  if (checkpoint) {
    expect_rows(*checkpoint, rows, summary);
    expect_kernel(*checkpoint, *kernel, transform);
  }
  const Index p = rows.dim_out();
  kernel->check_dimensions(rows.dim_in(), p);
  origin = options.fit_intercept ? summary.target_mean : Vector<double>(Vector<double>::Zero(p));
  if (const Term* term = kernel->separable()) outputs = output_factor(*term, p);
  if (summary.has_missing_targets()) see_missing_targets();
  plan(summary.rows);
}

// Outputs of different patterns are apart where A joins none of them.
template <Real T>
void FitPipeline<T>::see_missing_targets() {
  double seen = 0;
  for (const TargetPattern& pattern : summary.patterns) {
    seen += static_cast<double>(pattern.rows) * static_cast<double>(pattern.columns.size());
  }
  task.missing = true;
  task.rank = static_cast<double>(outputs.rank(rows.dim_out()));
  task.seen_share = seen / (task.n * task.p);
  task.patterns = static_cast<double>(summary.patterns.size());
  task.patterns_apart = kernel->separable() != nullptr;
  if (task.patterns_apart && !outputs.identity()) {
    Matrix<double> joining = outputs.root() * outputs.root().transpose();
    const double largest = joining.cwiseAbs().maxCoeff();
    for (const TargetPattern& pattern : summary.patterns) {
      auto own = joining(pattern.columns, pattern.columns);
      if (own.cwiseAbs().maxCoeff() <= 1e-14 * largest) task.patterns_apart = false;  // no function: left to the others
      own.setZero();
    }
    task.patterns_apart = task.patterns_apart && joining.cwiseAbs().maxCoeff() <= 1e-14 * largest;
  }
  require(
      task.apart() || !task.path || task.exact(),
      "path: targets are missing in {} patterns, and the kernel couples outputs of different ones; a path of alphas "
      "is then for approximation 'exact', cross-validation by folds for any",
      summary.patterns.size());
}

template <Real T>
OutputFactor FitPipeline<T>::outputs_of(const TargetPattern& pattern) const {
  if (outputs.identity()) return {};
  const Matrix<double> A = outputs.root() * outputs.root().transpose();
  return factor_output_matrix(A(pattern.columns, pattern.columns));
}

template <Real T>
void FitPipeline<T>::adopt(const PlannedWay& planned) {
  rows.read_at_once(planned.use.rows_at_once);
  report.memory = planned.use.text(plan_.limit);
  report.solver = planned.way->solver.word;
  if (checkpoint) checkpoint->expect("way", planned.way->name);
}

// Asked for by name; the only one that fits; or the one of least work among those whose work is known, else the first.
template <Real T>
const PlannedWay& FitPipeline<T>::choose() {
  const PlannedWay* best = &plan_.ways[0];
  double work = std::numeric_limits<double>::infinity(), other_work = work;
  for (const PlannedWay& planned : plan_.ways) {
    if (!planned.way->cost) continue;
    const double here = planned.way->cost(task);
    other_work = std::min(other_work, std::max(here, work));
    if (here < work) work = here, best = &planned;
  }
  const WayInfo& way = *best->way;
  const std::string_view name = way.solver.word;
  const PlannedWay* direct = plan_.factored();
  const double order = way.order(task);
  if (!task.automatic()) {
    report.reason = format_text("{}: asked for", name);
  } else if (!task.squared) {
    report.reason = format_text("{}: loss '{}'", name, loss_name(options.loss));
  } else if (best == direct) {
    report.reason = format_text("direct: a matrix of order {:.0f} fits in memory", order);
    if (other_work < 20 * work) {
      report.reason += format_text("; {:.2g} of the work of cg by the stored rates", work / other_work);
    }
  } else if (!direct && plan_.factored_bytes > 0) {
    report.reason = format_text("cg: with a matrix of order {:.0f} the fit would need {}, the memory budget is {}",
                                order, format_bytes(plan_.factored_bytes), format_bytes(plan_.limit));
  } else {
    report.reason = format_text("{}: faster than factoring a matrix of order {:.0f}, by the stored rates", name, order);
  }
  return *best;
}

template <Real T>
KernelMachine<T> FitPipeline<T>::run() {
  prepare();
  const PlannedWay planned = choose();
  adopt(planned);
  const auto& way = static_cast<const Way<T>&>(*planned.way);
  return way.run(*this, way);
}

template <Real T>
KernelMachine<T> FitPipeline<T>::factor_instead(const std::string& reason) {
  const PlannedWay planned = *plan_.factored();
  auto seconds = std::move(report.seconds);
  report = {};
  report.seconds = std::move(seconds);
  report.reason = reason;
  adopt(planned);
  const auto& way = static_cast<const Way<T>&>(*planned.way);
  return way.run(*this, way);
}

template <Real T>
std::optional<PosedProblem<T>> FitPipeline<T>::pose_folds(Index folds) {
  task.folds = static_cast<double>(folds);
  prepare();
  for (const PlannedWay& planned : plan_.ways) {
    const auto& way = static_cast<const Way<T>&>(*planned.way);
    if (!way.pose || task.missing || (!task.separable && task.exact())) continue;
    adopt(planned);
    return way.pose(*this);
  }
  return std::nullopt;
}

template <Real T>
HeldRows<T> FitPipeline<T>::held_rows() const {
  HeldRows<T> held = rows.gather([](Index, double weight) { return weight; }, execution, summary.rows);
  require(held.rows() == summary.rows, "fit: the rows changed while they were read");
  return held;
}

template <Real T>
DualRows FitPipeline<T>::dual_rows(const HeldRows<T>& held) const {
  return {held.Y.template cast<double>().rowwise() - origin.transpose(), held.weights.template cast<double>(), origin};
}

template <Real T>
FourierMap<T> FitPipeline<T>::sample_map() const {
  return sample_term_map<T>(*kernel, rows.dim_in(), options.components(), options.seed, options.sampling, transform);
}

template <Real T>
Moments FitPipeline<T>::sum(const FeatureRows& features) {
  PhaseTimer timer(report, "gram");
  Moments sums(features.features(), origin);
  features.moments(sums, {checkpoint, sums_name});
  report.device = features.on_device();
  require_finite(sums);
  if (options.keep_moments && task.keeps_moments()) moments = std::make_shared<const Moments>(sums);
  return sums;
}

namespace {

// The most that a coefficient of 1 adds to an output, as a sum of squares over all of them at one row: 1 / units for
// Fourier features, of which some are large where others are small; k(z, z) for kernels.
template <Real T>
double reach_of(const FourierMap<T>& map) {
  return std::sqrt(2 / static_cast<double>(map.n_features()));
}
template <Real T>
double reach_of(const KernelMap<T>& map) {
  return kernel_diagonal<T>(map.kernel(), map.anchors(), map.transform()).maxCoeff();
}
template <Real T>
double reach_of(const OperatorMap<T>& map) {
  return map.diagonal().maxCoeff();
}

// What rounding of coefficients to T may change predictions by.
template <Real T>
double rounding_of(const typename KernelMachine<T>::Map& map, const Matrix<double>& coefficients,
                   const OutputFactor& outputs) {
  const double root = outputs.identity() ? 1 : outputs.root().rowwise().norm().maxCoeff();
  const double reach = std::visit([](const auto& m) { return reach_of(m); }, map);
  return std::numeric_limits<T>::epsilon() * coefficients.stableNorm() * root * reach;
}

}  // namespace

// Coefficients that are rounded to T change a prediction by about eps |coefficients| |feature|. Where that is more than
// what the targets differ by, the prediction is rounding: two equal rows with different targets and an alpha of 1e-30
// ask for coefficients of 1e30 that cancel.
template <Real T>
void FitPipeline<T>::require_more_than_rounding(const Map& map, const Matrix<double>& coefficients) const {
  const double eps = std::numeric_limits<T>::epsilon(), largest = summary.target_mean.cwiseAbs().maxCoeff();
  const double yardstick = summary.target_reach.maxCoeff() + (options.fit_intercept ? 64 * eps : 2) * largest;
  require(!(rounding_of<T>(map, coefficients, outputs) > yardstick),
          "fit: alpha = {:.3g} is too small for these rows: coefficients of {:.1g} leave nothing but rounding of "
          "predictions in {}; take a larger alpha",
          task.alpha, coefficients.stableNorm(), std::same_as<T, float> ? "float32" : "float64");
}

template <Real T>
KernelMachine<T> FitPipeline<T>::finish(Map map, const LinearSolution& solution) {
  require_more_than_rounding(map, solution.coefficients);
  FitRecord record;
  record.approximation = task.approximation_name();
  record.n_components = task.exact() ? 0 : task.sketch ? n_components(*task.sketch) : options.components();
  if (task.sketch) record.sketch = sketch_parameters(*task.sketch);
  record.loss = options.loss;
  record.non_crossing = options.non_crossing;
  record.sampling = options.sampling;
  record.alpha = task.alpha;
  record.fit_intercept = options.fit_intercept;
  record.scale_inputs = transform.shift.size() > 0;
  record.fill_missing = options.fill_missing;
  record.missing_targets = task.missing;
  record.seed = options.seed;
  record.rows = summary.rows;
  record.target_mean = summary.target_mean;
  record.input_names = options.input_names;
  record.target_names = options.target_names;
  record.report = report;
  const double reach = summary.target_reach.maxCoeff() + summary.target_mean.cwiseAbs().maxCoeff();
  const double off = rounding_of<T>(map, solution.coefficients, outputs) / reach;
  if (task.squared && report.solver != "direct" && off > 3 * std::sqrt(std::numeric_limits<T>::epsilon())) {
    record.report.status = SolveStatus::not_converged;  // iterations do not tell what cancels
    record.report.message = format_text(
        "{}: alpha = {:.3g} leaves coefficients whose rounding is {:.1g} of the targets in predictions; take a larger "
        "alpha, or solver 'direct'",
        report.solver, task.alpha, off);
  }
  record.noise = noise;
  record.left_out = left_out;
  count_without_target(summary.without_target, record.report);
  record.moments = moments;
  record.weights = weights;
  record.patterns = patterns;
  Matrix<T> root;
  if (!outputs.identity()) root = outputs.root().template cast<T>();
  return KernelMachine<T>(*kernel, share_map<T>(std::move(map)), solution.coefficients.template cast<T>(),
                          std::move(root), solution.intercept.template cast<T>(), std::move(record));
}

template class FitPipeline<float>;
template class FitPipeline<double>;

}  // namespace carmina
