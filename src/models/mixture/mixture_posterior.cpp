// models/mixture/mixture_posterior.cpp -- what predictions of a learnt mixture need of all rows: sums of features block
// by block, or the rows themselves for a process.
#include "data/data_rows.hpp"
#include "models/mixture/mixture_learner.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace carmina {
namespace {

// All rows in double, each as often as its weight says, targets about their mean.
template <Real T>
std::pair<Matrix<double>, Matrix<double>> process_rows(const CountedRows<T>& counted, const Vector<double>& mean,
                                                       const Execution& execution) {
  const Index d = counted.source.dim_in(), p = counted.source.dim_out();
  std::vector<double> X, Y;
  DataRows<T> rows(counted.source);
  rows.read_at_once(counted.at_once);
  rows.for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    for (Index i = 0; i < block.rows; ++i) {
      const T *x = block.X + i * block.x_stride, *y = block.Y + i * block.y_stride;
      const Index copies = block.weights ? static_cast<Index>(block.weights[i]) : 1;
      for (Index copy = 0; copy < copies; ++copy) {
        X.insert(X.end(), x, x + d);
        for (Index a = 0; a < p; ++a) Y.push_back(static_cast<double>(y[a]) - mean[a]);
      }
    }
  });
  const auto n = static_cast<Index>(X.size()) / d;
  return {map_rows(X.data(), n, d), map_rows(Y.data(), n, p)};
}

// log N(Y | 0, L Lᵀ) of an exact process, coefficients (L Lᵀ)^-1 Y.
double exact_value(const MixtureProcess& process, const Matrix<double>& Y) {
  const auto n = static_cast<double>(Y.rows()), p = static_cast<double>(Y.cols());
  return -process.coefficients.cwiseProduct(Y).sum() / 2 - p * process.L.diagonal().array().log().sum() -
         p * n / 2 * std::log(2 * std::numbers::pi);
}

}  // namespace

template <Real T>
void set_posterior(const CountedRows<T>& rows, const std::vector<std::vector<Index>>& groups,
                   const Vector<double>& mean, const SpectralMixtureOptions& options, LearntMixture& learnt,
                   Checkpoint* checkpoint) {
  learnt.posteriors.clear();
  learnt.process = {};
  learnt.evidence = 0;
  for (const WeightedFrequencies& points : learnt.points) {
    const SavedLoop saved{checkpoint, format_text("posterior {}", learnt.posteriors.size())};
    learnt.posteriors.push_back(streamed_posterior(rows, points, mean, groups, options.execution, saved));
    learnt.evidence += learnt.posteriors.back().evidence / static_cast<double>(learnt.points.size());
  }
  if (options.inference == Inference::fourier) return;
  const auto [X, Y] = process_rows(rows, mean, options.execution);
  const SpectralParameters& at = learnt.parameters;
  if (options.inference == Inference::exact) {
    learnt.process = exact_process(at.mixture, at.noise[0], X, Y, options.execution);
    learnt.evidence = exact_value(learnt.process, Y);
  } else {
    learnt.process = inducing_process(at.mixture, at.noise[0], at.inducing, X, Y, options.execution);
    learnt.evidence = inducing_evidence(at.mixture, at.noise[0], at.inducing, X, Y, false, options.execution).value;
  }
}
template void set_posterior(const CountedRows<float>&, const std::vector<std::vector<Index>>&, const Vector<double>&,
                            const SpectralMixtureOptions&, LearntMixture&, Checkpoint*);
template void set_posterior(const CountedRows<double>&, const std::vector<std::vector<Index>>&, const Vector<double>&,
                            const SpectralMixtureOptions&, LearntMixture&, Checkpoint*);

}  // namespace carmina
