// models/fit/learn_from_rows.cpp -- the rows that a kernel is learnt from: all, or an even sample of many.
#include "models/fit/learn_from_rows.hpp"
#include "models/fit/checkpoint_facts.hpp"
#include "models/fit/resolve_kernel.hpp"
#include "models/fit/sampled_rows.hpp"
#include "models/plan/memory_plan.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>

namespace carmina {

template <Real T>
LearntKernel learn_from_rows(DataRows<T>& rows, const FitOptions& options, SolveReport& report,
                             CheckpointFile* checkpoint) {
  PhaseTimer timer(report, "evidence");
  const Index d = rows.dim_in(), p = rows.dim_out();
  rows.read_at_once(block_rows(d + p, options.execution));
  const DataSummary summary = summarize(rows, options.fill_missing, options.needs_covariance(), options.execution);
  require(!summary.has_missing_targets(),
          "evidence: a row must have targets for all outputs or for none, found rows that lack a part of them; take "
          "another choice of alpha, or outputs one by one");
  const InputTransform transform = input_transform(summary, options, options.differential());
  const Kernel kernel = resolve_kernel(summary, transform, options);
  kernel.check_dimensions(d, p);
  const RowSampler sampler(summary.copies, options.evidence_rows, 1, Random(options.seed, Stream::evidence_rows));
  HeldRows<T> some = sample_rows(rows, sampler, options.execution, std::min(summary.rows, options.evidence_rows));
  require(some.rows() > 0, "evidence: no row was left to learn from");
  transform.apply(some.X.data(), d, some.rows(), d, some.X.data());
  if (options.fit_intercept) {
    some.Y = (some.Y.template cast<double>().rowwise() - summary.target_mean.transpose()).template cast<T>();
  }
  if (checkpoint) expect_rows(*checkpoint, rows, summary);
  return learn_kernel<T>(some.X, some.Y, some.weights_or_null(), kernel, options,
                         {.max_iter = 200, .tol = 1e-5, .saved = {checkpoint, "evidence"}});
}
template LearntKernel learn_from_rows(DataRows<float>&, const FitOptions&, SolveReport&, CheckpointFile*);
template LearntKernel learn_from_rows(DataRows<double>&, const FitOptions&, SolveReport&, CheckpointFile*);

}  // namespace carmina
