// models/tune/tune_mixture.cpp -- one fit for each number of components; the largest evidence wins.
#include "models/mixture/mixture_plan.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/tune.hpp>

#include <algorithm>

namespace carmina {

std::vector<Index> usual_mixture_counts(const SpectralMixtureOptions& options) {
  std::vector<Index> counts;
  for (const Index count : {1, 2, 4, 8, 16}) {
    const bool features = options.inference == Inference::fourier || options.inference == Inference::automatic;
    if (!features || 2 * count <= options.features()) counts.push_back(count);
  }
  return counts;
}

namespace {

// What a learnt mixture holds: the factors that its predictions are made of. Of `rows` rows.
double held_bytes(const SpectralMixtureOptions& options, Index d, Index p, double rows) {
  const MixtureShape shape = mixture_shape(options, d, p, rows, rows, 1, sizeof(double));
  const auto square = [](double order) { return order * order; };
  switch (options.inference) {
    case Inference::fourier:
    case Inference::automatic:
      return 8 * shape.draws * square(shape.order);
    case Inference::exact:
      return 8 * square(rows);
    case Inference::inducing:
      return 16 * square(shape.inducing);
  }
  return 0;
}

}  // namespace

template <Real T>
MixtureTuneResult tune_mixture(RowSource<T>& rows, const SpectralMixtureOptions& options, std::vector<Index> counts) {
  require(!options.checkpoint, "tune: a checkpoint is for one fit, here are many");
  require(!options.start, "tune: a given start has its own number of components");
  if (counts.empty()) counts = usual_mixture_counts(options);
  SpectralMixtureOptions trial = options;
  for (const Index count : counts) {
    trial.n_mixtures = count;
    trial.check();
  }
  // The largest first: it needs the most memory, and so says how many rows all of them learn from.
  std::vector<std::size_t> order(counts.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  if (counts.size() > 1) {  // the best so far stays in memory beside the next
    const auto count = static_cast<double>(rows.rows().value_or(usual_learning_rows));
    const double left = memory_limit(options.execution) - held_bytes(options, rows.dim_in(), rows.dim_out(), count);
    trial.execution.memory_budget = static_cast<std::size_t>(std::max(left, 1.0));
  }
  MixtureTuneResult result;
  result.trials.resize(counts.size());
  bool first = true;
  double best = 0;
  for (std::size_t done = 0; done < order.size(); ++done) {
    const std::size_t k = order[done];
    trial.n_mixtures = counts[k];
    SpectralMixtureMachine machine = SpectralMixtureMachine::fit(rows, trial);
    const auto& evidences = machine.start_evidences();
    const double evidence = *std::max_element(evidences.begin(), evidences.end());
    result.trials[k] = {counts[k], evidence, machine.report().iterations,
                        machine.report().status == SolveStatus::converged};
    if (first && machine.options().learning_rows > 0) trial.learning_rows = machine.options().learning_rows;
    // Of equal evidences the smaller mixture's.
    if (first || evidence >= best) best = evidence, result.machine = std::move(machine);
    first = false;
    options.execution.checkpoint({"tuning", static_cast<Index>(done) + 1, static_cast<Index>(order.size())});
  }
  const Index largest = counts[order.front()];
  if (counts.size() > 1 && result.machine.options().n_mixtures == largest) {
    result.message = format_text("the best number of components, {}, is the largest that was tried", largest);
  }
  return result;
}
template MixtureTuneResult tune_mixture(RowSource<float>&, const SpectralMixtureOptions&, std::vector<Index>);
template MixtureTuneResult tune_mixture(RowSource<double>&, const SpectralMixtureOptions&, std::vector<Index>);

}  // namespace carmina
