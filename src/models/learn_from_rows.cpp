// models/learn_from_rows.cpp -- the rows that a kernel is learnt from: all, or an even sample of many.
#include "learn_from_rows.hpp"

#include "preparation.hpp"
#include "sampled_rows.hpp"
#include "solver_choice.hpp"

#include <carmina/core/error.hpp>

#include <vector>

namespace carmina {
namespace {

constexpr std::uint32_t thinning_stream = 43;

}  // namespace

template <Real T>
LearntKernel learn_from_rows(RowSource<T>& rows, const FitOptions& options, SolveReport& report) {
  PhaseTimer timer(report, "evidence");
  const Index d = rows.dim_in(), p = rows.dim_out(), at_once = block_rows(d + p, options.execution);
  const bool covariance = options.coupling == OutputCoupling::covariance;
  const DataSummary summary = summarize(rows, options.fill_missing, covariance, at_once, options.execution);
  const InputTransform transform = input_transform(summary, options, options.differential());
  const Kernel kernel = resolve_kernel(summary, transform, options);
  kernel.check_dimensions(d, p);
  const RowSampler sampler(summary.copies, options.evidence_rows, 1, Random(options.seed, thinning_stream));

  std::vector<T> X, Y, weights;
  bool weighted = false;
  std::vector<T> row(static_cast<std::size_t>(d));
  for_sampled_rows(rows, sampler, at_once, options.execution, [&](const RowBlock<T>& block, Index i, T weight) {
    transform.apply(block.X + i * block.x_stride, block.x_stride, 1, d, row.data());
    X.insert(X.end(), row.begin(), row.end());
    for (Index a = 0; a < p; ++a) {
      const double origin = options.fit_intercept ? summary.target_mean[a] : 0;
      Y.push_back(static_cast<T>(static_cast<double>(block.Y[i * block.y_stride + a]) - origin));
    }
    weights.push_back(weight);
    weighted = weighted || weight != 1;
  });
  const auto n = static_cast<Index>(weights.size());
  require(n > 0, "evidence: no row was left to learn from");
  return learn_kernel<T>(map_rows(X.data(), n, d), map_rows(Y.data(), n, p), weighted ? weights.data() : nullptr,
                         kernel, options);
}
template LearntKernel learn_from_rows(RowSource<float>&, const FitOptions&, SolveReport&);
template LearntKernel learn_from_rows(RowSource<double>&, const FitOptions&, SolveReport&);

}  // namespace carmina
