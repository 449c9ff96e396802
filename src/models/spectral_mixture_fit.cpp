// models/spectral_mixture_fit.cpp -- the path of a spectral mixture: plan, a first pass over the rows, those to learn
// from, learning, the posterior of all rows, machine.
#include "mixture_learner.hpp"
#include "mixture_plan.hpp"
#include "sampled_rows.hpp"
#include "summary.hpp"

#include <carmina/core/error.hpp>

#include <cmath>

namespace carmina {
namespace {

constexpr std::uint32_t learning_stream = 44;
constexpr Index most_merged = 100000;  // rows that are put in order without need
constexpr Index longest_run = 64, fewest_runs = 256;

// What the first pass says of the rows of positive weight.
struct MixtureSummary {
  Index rows = 0, copies = 0;  // copies: rows of integer weight as often as that says
  bool whole_weights = true;
  Vector<double> target_mean;              // (p), of the targets that are there
  std::vector<std::vector<Index>> groups;  // outputs whose targets are there in the same rows
};

template <Real T>
MixtureSummary summarize_targets(RowSource<T>& rows, const SpectralMixtureOptions& options, Index rows_at_once) {
  const Index p = rows.dim_out();
  const RowGaps gaps{.inputs = false,
                     .targets = options.inference == Inference::fourier,
                     .input_advice = "a spectral mixture needs every input of a row: remove it, or fill the gap"};
  MixtureSummary summary;
  // About the first target of each column, so that large ones do not cancel.
  Vector<double> first = Vector<double>::Constant(p, std::nan("")), sum = Vector<double>::Zero(p), weight = sum;
  std::vector<bool> apart(static_cast<std::size_t>(p * p));  // whether two outputs differ in where they are there
  rows.rewind();
  for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
    for (Index i = 0; i < block.rows; ++i) {
      check_row(rows, block, i, gaps);
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1;
      if (w == 0) continue;
      ++summary.rows;
      summary.copies += weight_copies(w);
      summary.whole_weights = summary.whole_weights && w == std::floor(w);
      const T* y = block.Y + i * block.y_stride;
      bool gap = false;
      for (Index a = 0; a < p; ++a) {
        if (std::isnan(y[a])) {
          gap = true;
          continue;
        }
        if (std::isnan(first[a])) first[a] = static_cast<double>(y[a]);
        sum[a] += w * (static_cast<double>(y[a]) - first[a]);
        weight[a] += w;
      }
      if (!gap) continue;
      for (Index a = 0; a < p; ++a) {
        for (Index b = 0; b < a; ++b) {
          if (std::isnan(y[a]) != std::isnan(y[b])) apart[static_cast<std::size_t>(a * p + b)] = true;
        }
      }
    }
    options.execution.checkpoint({"reading", block.first_row + block.rows, rows.rows().value_or(0)});
  }
  require(summary.rows > 0, "fit: there are no rows with a positive weight");
  summary.target_mean.resize(p);
  for (Index a = 0; a < p; ++a) {
    require(weight[a] > 0, "fit: output {} has no target at all", a + 1);
    summary.target_mean[a] = first[a] + sum[a] / weight[a];
    std::size_t g = 0;
    while (g < summary.groups.size() && apart[static_cast<std::size_t>(a * p + summary.groups[g].front())]) ++g;
    if (g == summary.groups.size()) summary.groups.emplace_back();
    summary.groups[g].push_back(a);
  }
  return summary;
}

// All rows, or the sample to learn from.
template <Real T>
MergedRows<T> gather_rows(RowSource<T>& rows, const RowSampler& sampler, Index most, Index rows_at_once,
                          const Execution& execution) {
  const Index d = rows.dim_in(), p = rows.dim_out();
  MergedRows<T> out{Matrix<T>(most, d), Matrix<T>(most, p), Vector<T>(most)};
  Index count = 0;
  for_sampled_rows(rows, sampler, rows_at_once, execution, [&](const RowBlock<T>& block, Index i, T weight) {
    require(count < most, "fit: the rows changed while they were read");
    out.X.row(count) = block.inputs().row(i);
    out.Y.row(count) = block.targets().row(i);
    out.weights[count++] = weight;
  });
  out.X.conservativeResize(count, Eigen::NoChange), out.Y.conservativeResize(count, Eigen::NoChange);
  out.weights.conservativeResize(count);
  if ((out.weights.array() == 1).all()) out.weights.resize(0);
  return out;
}

void check_dimensions(const SpectralMixtureOptions& options, Index d, Index p) {
  require(d > 0 && p > 0, "fit: the data has {} inputs and {} targets, expected at least one of each", d, p);
  const bool field = options.outputs == MixtureOutputs::curl_free || options.outputs == MixtureOutputs::divergence_free;
  require(!field || d == p, "fit: outputs '{}' needs as many targets as inputs, found {} and {}",
          mixture_outputs_name(options.outputs), p, d);
  require(!field || options.inference == Inference::fourier, "fit: outputs '{}' needs inference 'fourier'",
          mixture_outputs_name(options.outputs));
  require(options.rank <= p, "fit: rank {} is larger than the number of outputs, {}", options.rank, p);
  if (!options.start) return;
  options.start->check();
  require(options.start->dim_in() == d, "fit: the start is for {} inputs, X has {}", options.start->dim_in(), d);
}

}  // namespace

template <Real T>
SpectralMixtureMachine SpectralMixtureMachine::fit(RowSource<T>& rows, const SpectralMixtureOptions& options) {
  options.check();
  const Index d = rows.dim_in(), p = rows.dim_out();
  check_dimensions(options, d, p);
  SolveReport before;
  MixturePlan plan = plan_mixture(options, rows, rows.rows(), 0);
  MixtureSummary summary;
  {
    PhaseTimer timer(before, "summary");
    summary = summarize_targets(rows, options, plan.rows_at_once);
  }
  require(options.inference == Inference::fourier || summary.whole_weights,
          "fit: inference '{}' takes whole numbers as weights; 'fourier' takes any", inference_name(options.inference));
  plan = plan_mixture(options, rows, summary.copies, static_cast<Index>(summary.groups.size()));

  SpectralMixtureOptions learning = options;
  if (plan.feature_rows > 0) {
    // Sums of features take a quarter of the budget that they see.
    const auto width = static_cast<std::size_t>(options.n_components + p + 1);
    learning.execution.memory_budget = 4 * static_cast<std::size_t>(plan.feature_rows) * width * sizeof(double);
  }
  const MixtureData data{summary.groups, {plan.rows_at_once, std::max<Index>(plan.feature_rows, 1)}, plan.longest_grid};
  // Of a series neighbours matter too: they alone say what varies fast.
  const Index run = d == 1 ? std::clamp<Index>(plan.learning / fewest_runs, 1, longest_run) : 1;
  const RowSampler sampler(summary.copies, plan.learning, run, Random(options.seed, learning_stream));
  MergedRows<T> some;
  {
    PhaseTimer timer(before, "reading");
    some = gather_rows(rows, sampler, std::min(summary.rows, plan.learning), plan.rows_at_once, options.execution);
    if (some.weights.size() > 0 || some.X.rows() <= most_merged) some.merge();
    if (options.inference != Inference::fourier) some.repeat();
  }
  SpectralMixtureMachine machine;
  LearntMixture learnt = learn_mixture(some, data, learning, machine.intercept_);
  if (!sampler.all()) {
    some = {};
    if (options.fit_intercept) machine.intercept_ = summary.target_mean;
    PhaseTimer timer(learnt.report, "posterior of all rows");
    set_posterior(rows, data, machine.intercept_, learning, learnt);
  }

  machine.options_ = options;
  machine.options_.execution = {};
  machine.options_.told = {};
  machine.options_.learning_rows = sampler.all() ? 0 : plan.learning;
  machine.inference_ = options.inference;
  machine.parameters_ = std::move(learnt.parameters);
  machine.points_ = std::move(learnt.points);
  machine.posteriors_ = std::move(learnt.posteriors);
  machine.process_ = std::move(learnt.process);
  machine.evidence_ = learnt.evidence;
  machine.curve_ = std::move(learnt.curve);
  machine.start_evidences_ = std::move(learnt.start_evidences);
  FitRecord& record = machine.record_;
  record.approximation = inference_name(options.inference);
  record.n_components = options.inference == Inference::fourier ? options.n_components : 0;
  record.alpha = machine.parameters_.noise[0];
  record.evidence = learnt.evidence;
  record.fit_intercept = options.fit_intercept;
  record.seed = options.seed;
  record.rows = summary.rows;
  record.target_mean = summary.target_mean;
  record.input_names = options.input_names;
  record.target_names = options.target_names;
  record.report = std::move(learnt.report);
  record.report.memory = plan.text;
  if (!sampler.all()) {
    record.report.reason +=
        fmt::format("; parameters learnt from {} of {} rows, the posterior is of all", plan.learning, summary.copies);
  }
  record.report.seconds.insert(record.report.seconds.begin(), before.seconds.begin(), before.seconds.end());
  return machine;
}
template SpectralMixtureMachine SpectralMixtureMachine::fit(RowSource<float>&, const SpectralMixtureOptions&);
template SpectralMixtureMachine SpectralMixtureMachine::fit(RowSource<double>&, const SpectralMixtureOptions&);

}  // namespace carmina
