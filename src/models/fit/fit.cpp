// models/fit/fit.cpp -- what is decided before a fit proper: joint quantiles, alpha and widths that are chosen by the
// data.
#include "models/choose/choose.hpp"
#include "models/fit/checkpoint_facts.hpp"
#include "models/fit/fit_pipeline.hpp"
#include "models/fit/learn_from_rows.hpp"
#include "models/fit/processes.hpp"
#include "models/fit/repeated_targets.hpp"

#include <carmina/core/error.hpp>

namespace carmina {
namespace {

std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

}  // namespace

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(RowSource<T>& rows, const FitOptions& options) {
  return fit(std::vector<RowSource<T>*>{&rows}, options);
}

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(const std::vector<RowSource<T>*>& parts, const FitOptions& options) {
  options.check();
  DataRows<T> rows(parts);
  return fit(rows, options);
}

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(const std::vector<RowSource<T>*>& parts, const FitOptions& options,
                                       const Communicator& processes) {
  return processes.together([&] {
    options.check();
    FitOptions agreed = options;
    agree_on(agreed.execution, processes);
    DataRows<T> rows(parts, &processes, agreed.execution);
    return fit(rows, agreed);
  });
}

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(ConstView<T> X, ConstView<T> Y, const FitOptions& options, const T* weights) {
  MemoryRows<T> rows(X, Y, weights);
  return fit(rows, options);
}

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(RowSource<T>& rows, const FitOptions& options, const Communicator& processes) {
  return fit(std::vector<RowSource<T>*>{&rows}, options, processes);
}

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(DataRows<T>& rows, const FitOptions& options) {
  if (!options.checkpoint) return fit(rows, options, nullptr);
  CheckpointFile checkpoint(options.checkpoint, rows.processes());
  KernelMachine<T> machine = fit(rows, options, &checkpoint);
  finish(checkpoint, machine.record_.report);
  return machine;
}

template <Real T>
KernelMachine<T> KernelMachine<T>::fit(DataRows<T>& rows, const FitOptions& options, CheckpointFile* checkpoint) {
  require(rows.dim_out() > 0, "fit: Y has no columns");
  if (leaves_choices(options)) {
    SolveReport choosing;
    FitOptions open = options;
    open.checkpoint = {};  // what is tried has none
    const FitOptions chosen = choose(rows, open, choosing);
    chosen.check();
    KernelMachine<T> machine = fit(rows, chosen, checkpoint);
    SolveReport& report = machine.record_.report;
    report.seconds.insert(report.seconds.begin(), choosing.seconds.begin(), choosing.seconds.end());
    report.choices = std::move(choosing.choices);
    report.text = std::move(choosing.text);
    return machine;
  }
  if (checkpoint) expect_options(*checkpoint, options);
  const auto* pinball = std::get_if<Pinball>(&options.loss);
  const auto levels = pinball ? static_cast<Index>(pinball->levels.size()) : 1;
  if (rows.dim_out() == 1 && levels > 1) {
    std::vector<std::unique_ptr<RepeatedTargets<T>>> repeated;
    std::vector<RowSource<T>*> sources;
    for (RowSource<T>* part : rows.parts()) {
      sources.push_back(repeated.emplace_back(std::make_unique<RepeatedTargets<T>>(*part, levels)).get());
    }
    DataRows<T> all(sources, rows.processes());
    FitPipeline<T> pipeline(all, options);
    pipeline.checkpoint = checkpoint;
    KernelMachine<T> machine = pipeline.run();
    machine.record_.joint_quantiles = true;
    return machine;
  }
  std::visit([&](const auto& loss) { loss.check(rows.dim_out()); }, options.loss);
  if (options.by_evidence) {
    SolveReport learning;
    FitOptions learnt = options.without_choices();
    // The evidence is that of features, whatever is fitted with the kernel they find.
    const LearntKernel found = learn_from_rows(rows, learnt.with_fourier_features(), learning, checkpoint);
    learnt.by_evidence = false;
    learnt.kernel = found.kernel;
    learnt.alpha = found.alpha;
    FitPipeline<T> pipeline(rows, learnt);
    pipeline.known_noise = found.alpha;
    pipeline.checkpoint = checkpoint;
    KernelMachine<T> machine = pipeline.run();
    FitRecord& record = machine.record_;
    record.evidence = found.evidence;
    record.report.seconds.insert(record.report.seconds.begin(), learning.seconds.begin(), learning.seconds.end());
    if (!found.converged) {
      const auto rising = format_text("the evidence was still rising after {} steps", found.iterations);
      record.report.message = joined(record.report.message, rising);
    }
    return machine;
  }
  if (options.alpha_by) {
    FitPipeline<T> pipeline(rows, options);
    pipeline.checkpoint = checkpoint;
    const auto path = pipeline.run_path(options.alphas.empty() ? path_alphas() : options.alphas,
                                        *options.alpha_by == AlphaScore::leave_one_out);
    const std::size_t best = best_point(path.points(), *options.alpha_by);
    KernelMachine<T> machine = path.machine(best);
    pipeline.leave_out_at(path.points()[best].alpha);
    machine.record_.noise = pipeline.noise;
    machine.record_.left_out = pipeline.left_out;
    std::string& message = machine.record_.report.message;
    message = joined(message, end_of_alphas(path.points(), best));
    return machine;
  }
  FitPipeline<T> pipeline(rows, options);
  pipeline.checkpoint = checkpoint;
  return pipeline.run();
}

#define CARMINA_INSTANTIATE(T)                                                                              \
  template KernelMachine<T> KernelMachine<T>::fit(RowSource<T>&, const FitOptions&);                        \
  template KernelMachine<T> KernelMachine<T>::fit(const std::vector<RowSource<T>*>&, const FitOptions&);    \
  template KernelMachine<T> KernelMachine<T>::fit(const std::vector<RowSource<T>*>&, const FitOptions&,     \
                                                  const Communicator&);                                     \
  template KernelMachine<T> KernelMachine<T>::fit(ConstView<T>, ConstView<T>, const FitOptions&, const T*); \
  template KernelMachine<T> KernelMachine<T>::fit(RowSource<T>&, const FitOptions&, const Communicator&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
