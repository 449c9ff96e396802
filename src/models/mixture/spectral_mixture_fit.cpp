// models/mixture/spectral_mixture_fit.cpp -- the path of a spectral mixture: plan, a first pass over the rows, those to
// learn from, learning, the posterior of all rows, machine.
#include "models/fit/checkpoint_facts.hpp"
#include "models/fit/processes.hpp"
#include "models/fit/row_statistics.hpp"
#include "models/fit/sampled_rows.hpp"
#include "models/fit/summary.hpp"
#include "models/mixture/mixture_learner.hpp"
#include "models/mixture/mixture_plan.hpp"
#include "models/mixture/mixture_state.hpp"
#include "models/mixture/series_learner.hpp"

#include <carmina/core/error.hpp>

#include <cmath>

namespace carmina {
namespace {

constexpr Index most_merged = 100000;  // rows that are put in order without need
constexpr Index longest_run = 64, fewest_runs = 256;

// What the first pass says of the rows of positive weight.
struct MixtureSummary {
  Index rows = 0;
  double copies = 0, weight = 0;  // copies: rows of integer weight as often as that says
  Index without_target = 0;       // rows that say nothing
  bool whole_weights = true, unit_weights = true;
  Vector<double> target_mean;              // (p), of the targets that are there
  std::vector<std::vector<Index>> groups;  // outputs whose targets are there in the same rows
};

template <Real T>
MixtureSummary summarize_targets(const DataRows<T>& rows, const SpectralMixtureOptions& options) {
  const Index p = rows.dim_out();
  const RowGaps gaps{.inputs = false,
                     .targets = options.inference == Inference::fourier,
                     .input_advice = "a spectral mixture needs every input of a row: remove it, or fill the gap"};
  MixtureSummary summary;
  RowStatisticsTree statistics(0, p, false, rows.first_row());
  const Eigen::RowVectorXd no_inputs;
  std::vector<std::int64_t> apart(static_cast<std::size_t>(p * p));  // rows that have one output and not the other
  Index end = rows.first_row();
  rows.for_blocks("reading", options.execution, [&](const RowBlock<T>& block) {
    const auto Y = block.targets();
    end = block.first_row + block.rows;
    for (Index i = 0; i < block.rows; ++i) {
      check_row(rows, block, i, gaps);
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1;
      if (w == 0) continue;
      ++summary.rows;
      summary.copies += weight_copies(w);
      statistics.add(block.first_row + i, no_inputs, Y.row(i), w);
      summary.whole_weights = summary.whole_weights && w == std::floor(w);
      summary.unit_weights = summary.unit_weights && w == 1;
      const T* y = block.Y + i * block.y_stride;
      const Index gaps_of_row = Y.row(i).array().isNaN().count();
      if (gaps_of_row == p) ++summary.without_target;
      if (gaps_of_row == 0 || gaps_of_row == p) continue;
      for (Index a = 0; a < p; ++a) {
        for (Index b = 0; b < a; ++b) {
          apart[static_cast<std::size_t>(a * p + b)] += std::isnan(y[a]) != std::isnan(y[b]) ? 1 : 0;
        }
      }
    }
  });
  if (const Communicator* processes = rows.processes()) {
    processes->sum(apart.data(), p * p);
    std::int64_t counts[] = {summary.rows, summary.without_target, summary.whole_weights ? 0 : 1};
    processes->sum(counts, 3);
    summary.rows = counts[0], summary.without_target = counts[1], summary.whole_weights = counts[2] == 0;
    processes->sum(&summary.copies, 1);  // whole numbers
  }
  require(summary.rows > 0, "fit: there are no rows with a positive weight");
  const RowStatistics found = statistics.total(end, rows.processes());
  summary.weight = found.weight;
  check_total_weight(summary.weight);
  summary.target_mean = found.targets.mean;
  for (Index a = 0; a < p; ++a) {
    require(found.targets.weight[a] > 0, "fit: output {} has no target at all", a + 1);
    std::size_t g = 0;
    while (g < summary.groups.size() && apart[static_cast<std::size_t>(a * p + summary.groups[g].front())] > 0) ++g;
    if (g == summary.groups.size()) summary.groups.emplace_back();
    summary.groups[g].push_back(a);
  }
  return summary;
}

// A number that is not finite is no answer: which step gave it, and what may help.
void check_learnt(const LearntMixture& learnt, const Vector<double>& intercept) {
  const SpectralParameters& at = learnt.parameters;
  require(at.mixture.weights.allFinite() && at.mixture.means.allFinite() && at.mixture.scales.allFinite() &&
              at.noise.allFinite() && at.real.allFinite() && at.imaginary.allFinite(),
          "fit: solver '{}' learnt parameters that are not finite numbers; scale inputs and targets, or take a smaller "
          "learning_rate",
          learnt.report.solver);
  bool finite = intercept.allFinite() && std::isfinite(learnt.evidence);
  for (const FourierPosterior& posterior : learnt.state.posteriors) {
    finite =
        finite && posterior.beta.allFinite() && posterior.L.triangularView<Eigen::Lower>().toDenseMatrix().allFinite();
  }
  for (const MixtureMember& member : learnt.state.members) {
    finite = finite && member.process.coefficients.allFinite();
  }
  require(finite, "fit: the posterior of the learnt mixture is not made of finite numbers; scale inputs and targets");
}

void check_data(const SpectralMixtureOptions& options, Index d, Index p) {
  require(d > 0 && p > 0, "fit: the data has {} inputs and {} targets, expected at least one of each", d, p);
  check_dimensions(options.coupling, d, p);
  const bool features = options.inference == Inference::fourier || options.inference == Inference::automatic;
  require(!is_differential(options.coupling) || features, "fit: outputs '{}' needs inference 'fourier'",
          coupling_name(options.coupling));
  const auto* factors = std::get_if<LearntFactors>(&options.coupling);
  require(!factors || factors->rank <= p, "fit: rank {} is larger than the number of outputs, {}",
          factors ? factors->rank : 0, p);
  require(d == 1 || (options.trend != Trend::linear && options.periods.empty()),
          "fit: a trend and periods are for one input, the time, found {}", d);
  require(!is_differential(options.coupling) || options.trend != Trend::linear, "fit: outputs '{}' have no trend",
          coupling_name(options.coupling));
  if (!options.start) return;
  options.start->check();
  require(options.start->dim_in() == d, "fit: the start is for {} inputs, X has {}", options.start->dim_in(), d);
}

}  // namespace

template <Real T>
SpectralMixtureMachine SpectralMixtureMachine::fit(RowSource<T>& source, const SpectralMixtureOptions& options) {
  options.check();
  DataRows<T> rows(source);
  return fit(rows, options);
}

template <Real T>
SpectralMixtureMachine SpectralMixtureMachine::fit(const std::vector<RowSource<T>*>& parts,
                                                   const SpectralMixtureOptions& options,
                                                   const Communicator& processes) {
  return processes.together([&] {
    options.check();
    require(options.inference == Inference::fourier || options.inference == Inference::automatic,
            "fit: inference '{}' takes all rows in one process; take 'fourier'", inference_name(options.inference));
    SpectralMixtureOptions agreed = options;
    agree_on(agreed.execution, processes);
    DataRows<T> rows(parts, &processes, agreed.execution);
    return fit(rows, agreed);
  });
}

template <Real T>
SpectralMixtureMachine SpectralMixtureMachine::fit(DataRows<T>& rows, const SpectralMixtureOptions& asked) {
  SpectralMixtureOptions options = asked;
  std::optional<CheckpointFile> checkpoint;
  if (options.checkpoint) expect_options(checkpoint.emplace(options.checkpoint, rows.processes()), options);
  CheckpointFile* const saved = checkpoint ? &*checkpoint : nullptr;
  const Index d = rows.dim_in(), p = rows.dim_out();
  check_data(options, d, p);
  const bool automatic = options.inference == Inference::automatic;
  if (automatic) options.inference = Inference::fourier;  // until the rows are counted
  if (options.trend == Trend::automatic && (!automatic || d > 1 || is_differential(options.coupling))) {
    options.trend = Trend::none;
  }
  SolveReport before;
  MixturePlan plan = plan_mixture(options, rows, rows.known_rows(), std::nullopt, 0);
  rows.read_at_once(plan.rows_at_once);
  MixtureSummary summary;
  {
    PhaseTimer timer(before, "summary");
    summary = summarize_targets(rows, options);
  }
  options.inference = chosen_inference(asked, d, p, summary.rows - summary.without_target, !summary.unit_weights,
                                       rows.processes() != nullptr);
  const bool series = learns_series(asked, options.inference);
  if (series) options.learning_rows = 0;  // of which it takes some itself
  require(!series || summary.unit_weights,
          "fit: with inference 'exact' a trend and periods are for rows of weight one; 'fourier' takes any");
  require(options.inference == Inference::fourier || summary.whole_weights,
          "fit: inference '{}' takes whole numbers as weights; 'fourier' takes any", inference_name(options.inference));
  plan = plan_mixture(options, rows, summary.rows, summary.copies, static_cast<Index>(summary.groups.size()));
  rows.read_at_once(plan.rows_at_once);

  // Of a series neighbours matter too: they alone say what varies fast.
  const Index run = d == 1 ? std::clamp<Index>(plan.learning / fewest_runs, 1, longest_run) : 1;
  const RowSampler sampler(summary.copies, plan.learning, run, Random(options.seed, Stream::rows));
  MergedRows<T> some;
  {
    PhaseTimer timer(before, "reading");
    HeldRows<T> held = sample_rows(rows, sampler, options.execution, std::min(summary.rows, plan.learning));
    some = {std::move(held.X), std::move(held.Y), std::move(held.weights)};
    // A series may see a time twice: its rows stay as they are.
    if (!series && (some.weights.size() > 0 || some.X.rows() <= most_merged)) some.merge();
  }
  SpectralMixtureMachine machine;
  if (saved) expect_rows(*saved, some, rows.rows(), summary.target_mean);
  LearntMixture learnt =
      series ? learn_series(some.X.template cast<double>(), some.Y.template cast<double>(), options,
                            asked.learning_rows, automatic, machine.intercept_, saved)
             : learn_mixture(some, summary.groups, options, plan.longest_grid, machine.intercept_, saved);
  if (!sampler.all()) {
    some = {};
    if (options.fit_intercept) machine.intercept_ = summary.target_mean;
    PhaseTimer timer(learnt.report, "posterior of all rows");
    set_posterior(CountedRows<T>{*rows.parts()[0], rows.own_rows(), plan.rows_at_once, rows.processes()},
                  summary.groups, machine.intercept_, options, learnt, saved);
  }

  check_learnt(learnt, machine.intercept_);
  machine.options_ = asked;
  machine.options_.execution = {};
  machine.options_.on_step = {};
  machine.options_.checkpoint = {};
  if (!series) machine.options_.learning_rows = sampler.all() ? 0 : plan.learning;
  machine.inference_ = options.inference;
  machine.parameters_ = std::move(learnt.parameters);
  machine.state_ = std::make_shared<const MixtureState>(std::move(learnt.state));
  machine.evidence_ = learnt.evidence;
  machine.curve_ = std::move(learnt.curve);
  machine.start_evidences_ = std::move(learnt.start_evidences);
  FitRecord& record = machine.record_;
  record.approximation = inference_name(options.inference);
  record.n_components = options.inference == Inference::fourier ? options.features() : 0;
  record.alpha = machine.parameters_.noise[0];
  record.evidence = learnt.evidence;
  record.fit_intercept = options.fit_intercept;
  record.seed = options.seed;
  record.rows = summary.rows - summary.without_target;
  record.target_mean = summary.target_mean;
  record.input_names = options.input_names;
  record.target_names = options.target_names;
  record.report = std::move(learnt.report);
  record.report.memory = plan.text;
  if (!sampler.all()) {
    record.report.reason += format_text("; parameters learnt from {} of {:.0f} rows, the posterior is of all",
                                        plan.learning, summary.copies);
  }
  count_without_target(summary.without_target, record.report);
  record.report.seconds.insert(record.report.seconds.begin(), before.seconds.begin(), before.seconds.end());
  if (saved) finish(*saved, record.report);
  return machine;
}
#define CARMINA_INSTANTIATE(T)                                                                               \
  template SpectralMixtureMachine SpectralMixtureMachine::fit(RowSource<T>&, const SpectralMixtureOptions&); \
  template SpectralMixtureMachine SpectralMixtureMachine::fit(const std::vector<RowSource<T>*>&,             \
                                                              const SpectralMixtureOptions&, const Communicator&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
