// models/mixture/mixture_posterior.cpp -- what predictions of a learnt mixture need of all rows: sums of features block
// by block, or the rows themselves for a process.
#include "data/data_rows.hpp"
#include "models/mixture/mixture_learner.hpp"
#include "solvers/evidence/mixture_checks.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace carmina {
namespace {

struct ProcessRows {
  Matrix<double> X, Y;
  Vector<double> weights;  // empty: all one
};

// All rows of positive weight in double, targets about their mean.
template <Real T>
ProcessRows process_rows(const CountedRows<T>& counted, const Vector<double>& mean, const Execution& execution) {
  const Index d = counted.source.dim_in(), p = counted.source.dim_out();
  std::vector<double> X, Y, weights;
  bool weighted = false;
  DataRows<T> rows(counted.source);
  rows.read_at_once(counted.at_once);
  rows.for_blocks("reading", execution, [&](const RowBlock<T>& block) {
    for (Index i = 0; i < block.rows; ++i) {
      const T *x = block.X + i * block.x_stride, *y = block.Y + i * block.y_stride;
      const double weight = block.weights ? static_cast<double>(block.weights[i]) : 1;
      if (weight == 0) continue;
      weights.push_back(weight);
      weighted = weighted || weight != 1;
      X.insert(X.end(), x, x + d);
      for (Index a = 0; a < p; ++a) Y.push_back(static_cast<double>(y[a]) - mean[a]);
    }
  });
  const auto n = static_cast<Index>(X.size()) / d;
  ProcessRows rows_of_all{map_rows(X.data(), n, d), map_rows(Y.data(), n, p), {}};
  if (weighted) rows_of_all.weights = Eigen::Map<const Vector<double>>(weights.data(), n);
  return rows_of_all;
}

// log N(Y | 0, L Lᵀ) of an exact process, coefficients (L Lᵀ)^-1 Y; with weights that of the rows they stand for.
double exact_value(const MixtureProcess& process, const Matrix<double>& Y, const Vector<double>& weights,
                   double noise) {
  const auto n = static_cast<double>(Y.rows()), p = static_cast<double>(Y.cols());
  return -process.coefficients.cwiseProduct(Y).sum() / 2 - p * process.L.diagonal().array().log().sum() -
         p * n / 2 * std::log(2 * std::numbers::pi) + repetition_constant(weights, noise, p);
}

}  // namespace

template <Real T>
void set_posterior(const CountedRows<T>& rows, const std::vector<std::vector<Index>>& groups,
                   const Vector<double>& mean, const SpectralMixtureOptions& options, LearntMixture& learnt,
                   Checkpoint* checkpoint) {
  MixtureState& state = learnt.state;
  state.posteriors.clear();
  state.members.clear();
  learnt.evidence = 0;
  for (const WeightedFrequencies& points : state.points) {
    const SavedLoop saved{checkpoint, format_text("posterior {}", state.posteriors.size())};
    state.posteriors.push_back(streamed_posterior(rows, points, mean, groups, options.execution, saved));
    learnt.evidence += state.posteriors.back().evidence / static_cast<double>(state.points.size());
  }
  if (options.inference == Inference::fourier) {
    const auto draws = static_cast<Index>(state.points.size());
    state.shares = Vector<double>::Constant(draws, 1 / static_cast<double>(draws));
    return;
  }
  state.shares = Vector<double>::Ones(1);
  const auto [X, Y, weights] = process_rows(rows, mean, options.execution);
  const SpectralParameters& at = learnt.parameters;
  MixtureMember& member = state.members.emplace_back(MixtureMember{at.mixture, at.noise[0], {}});
  if (options.inference == Inference::exact) {
    member.process = exact_process(at.mixture, at.noise[0], X, Y, options.execution, weights);
    learnt.evidence = exact_value(member.process, Y, weights, at.noise[0]);
  } else {
    member.process = inducing_process(at.mixture, at.noise[0], at.inducing, X, Y, options.execution, weights);
    learnt.evidence =
        inducing_evidence(at.mixture, at.noise[0], at.inducing, X, Y, false, options.execution, weights).value;
  }
}
template void set_posterior(const CountedRows<float>&, const std::vector<std::vector<Index>>&, const Vector<double>&,
                            const SpectralMixtureOptions&, LearntMixture&, Checkpoint*);
template void set_posterior(const CountedRows<double>&, const std::vector<std::vector<Index>>&, const Vector<double>&,
                            const SpectralMixtureOptions&, LearntMixture&, Checkpoint*);

}  // namespace carmina
