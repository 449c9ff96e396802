// models/fit/checkpoint_facts.cpp -- what the states of a fit depend on, as texts.
#include "models/fit/checkpoint_facts.hpp"
#include "models/file/kernel_json.hpp"
#include "models/file/model_layout.hpp"

#include <carmina/core/error.hpp>

namespace carmina {
namespace {

using Json = nlohmann::json;

// Digits of what is too long to be said.
class Digest {
 public:
  template <class D>
  void add(const Eigen::PlainObjectBase<D>& values) {
    add(static_cast<double>(values.rows()));
    sum_.add(values.data(), static_cast<std::size_t>(values.size()) * sizeof(typename D::Scalar));
  }
  void add(double value) { sum_.add(&value, sizeof value); }
  void add(const ModelFile& file) {
    for (const auto& [name, tensor] : file.tensors) {
      sum_.add(name.data(), name.size());
      sum_.add(tensor.bytes.data(), tensor.bytes.size());
    }
  }
  std::string digits() const { return sum_.digits(); }

 private:
  layout::Checksum sum_;
};

// Numbers to their last digit, texts as they are.
void expect(CheckpointFile& file, const std::string& name, const Json& value) {
  file.expect(name, value.is_string() ? value.get<std::string>() : value.dump());
}

template <class V>
Json or_auto(const std::optional<V>& value) {
  return value ? Json(*value) : Json("auto");
}

template <Real T>
const char* precision = sizeof(T) == 4 ? "float32" : "float64";

}  // namespace

void expect_options(CheckpointFile& file, const FitOptions& options) {
  for (const NumberOption& number : number_options()) {
    std::visit([&](auto value) { expect(file, number.name, options.*value); }, number.value);
  }
  const auto sketch = options.chosen_sketch();
  expect(file, "approximation", sketch ? sketches::sketch_name(*sketch) : options.approximation);
  if (sketch) expect(file, "sketch", sketches::sketch_parameters(*sketch));
  expect(file, "n_components", sketch ? sketches::n_components(*sketch) : options.components());
  expect(file, "sampling", sampling_name(options.sampling));
  expect(file, "loss", {{"name", loss_name(options.loss)}, {"parameters", loss_parameters(options.loss)}});
  expect(file, "alpha", or_auto(options.alpha));
  expect(file, "alpha_by", options.alpha_by ? alpha_score_name(*options.alpha_by) : "none");
  expect(file, "by_evidence", options.by_evidence);
  expect(file, "evidence_rows", options.evidence_rows);
  expect(file, "fit_intercept", options.fit_intercept);
  expect(file, "fill_missing", options.fill_missing);
  expect(file, "non_crossing", options.non_crossing);
  expect(file, "solver", options.solver);
  expect(file, "seed", options.seed);
  expect(file, "estimate_noise", options.estimate_noise);
  expect(file, "keep_moments", options.keep_moments);
}

void expect_options(CheckpointFile& file, const SpectralMixtureOptions& options) {
  expect(file, "kernel", "spectral_mixture");
  expect(file, "n_mixtures", options.n_mixtures);
  expect(file, "trend", trend_name(options.trend));
  Digest periods;
  for (const double period : options.periods) periods.add(period);
  expect(file, "periods", periods.digits());
  expect(file, "n_components", options.n_components);
  expect(file, "inference", inference_name(options.inference));
  expect(file, "parameterization", parameterization_name(options.parameterization));
  expect(file, "allocation", allocation_name(options.allocation));
  expect(file, "kl_copies", kl_copies_name(options.kl_copies));
  expect(file, "family", family_name(options.family));
  expect(file, "solver", options.solver);
  expect(file, "max_iter", options.max_iter);
  expect(file, "tol", options.tol);
  expect(file, "learning_rate", options.learning_rate);
  expect(file, "step_draws", options.step_draws);
  expect(file, "n_draws", options.n_draws);
  expect(file, "n_starts", options.n_starts);
  expect(file, "n_inducing", options.n_inducing);
  expect(file, "coupling", coupling_name(options.coupling));
  if (const auto* factors = std::get_if<LearntFactors>(&options.coupling)) {
    expect(file, "rank", factors->rank);
    expect(file, "phases", factors->phases);
  }
  expect(file, "fit_intercept", options.fit_intercept);
  expect(file, "learning_rows", options.learning_rows);
  expect(file, "seed", options.seed);
  Digest start;
  if (options.start)
    start.add(options.start->weights), start.add(options.start->means), start.add(options.start->scales);
  expect(file, "start", start.digits());
}

template <Real T>
void expect_rows(CheckpointFile& file, const DataRows<T>& rows, const DataSummary& summary) {
  expect(file, "precision", precision<T>);
  expect(file, "rows", rows.rows());
  expect(file, "inputs", rows.dim_in());
  expect(file, "targets", rows.dim_out());
  Digest sums;
  sums.add(static_cast<double>(summary.rows)), sums.add(static_cast<double>(summary.copies)), sums.add(summary.weight);
  sums.add(summary.input_mean), sums.add(summary.input_deviation);
  sums.add(summary.target_mean), sums.add(summary.target_weight);
  for (const TargetPattern& pattern : summary.patterns) sums.add(static_cast<double>(pattern.rows));
  expect(file, "a sum over the rows of", sums.digits());
}
template void expect_rows(CheckpointFile&, const DataRows<float>&, const DataSummary&);
template void expect_rows(CheckpointFile&, const DataRows<double>&, const DataSummary&);

template <Real T>
void expect_rows(CheckpointFile& file, const MergedRows<T>& some, Index rows, const Vector<double>& target_mean) {
  expect(file, "precision", precision<T>);
  expect(file, "rows", rows);
  expect(file, "rows to learn from", some.X.rows());
  Digest sums;
  sums.add(some.X), sums.add(some.Y), sums.add(some.weights), sums.add(target_mean);
  expect(file, "a sum over the rows of", sums.digits());
}
template void expect_rows(CheckpointFile&, const MergedRows<float>&, Index, const Vector<double>&);
template void expect_rows(CheckpointFile&, const MergedRows<double>&, Index, const Vector<double>&);

void expect_kernel(CheckpointFile& file, const Kernel& kernel, const InputTransform& transform) {
  require(!made_of_functions(kernel),
          "checkpoint: the kernel is made of functions (Callable, Spectral, FromSignature), which no file holds; fit "
          "without one");
  ModelFile arrays;
  expect(file, "kernel", kernel_to_json(kernel, arrays).dump());
  Digest rest;
  rest.add(arrays);
  rest.add(transform.shift), rest.add(transform.factor), rest.add(transform.fill), rest.add(transform.metric);
  rest.add(transform.limit);
  expect(file, "a scaling of", rest.digits());
}

void finish(CheckpointFile& file, SolveReport& report) {
  file.finish();
  if (file.trouble().empty()) return;
  report.message +=
      format_text("{}the checkpoint was not kept: {}", report.message.empty() ? "" : "; ", file.trouble());
}

}  // namespace carmina
