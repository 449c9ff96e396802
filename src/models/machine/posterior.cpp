// models/machine/posterior.cpp -- deviations, intervals and draws from a machine's posterior, in the units of its
// noise.
#include "models/machine/derived_plan.hpp"
#include "models/machine/machine_map.hpp"
#include "models/machine/pattern_machine.hpp"
#include "models/machine/posterior_factors.hpp"
#include "models/machine/posterior_system.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/posterior.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

template <Real T>
std::unique_ptr<PosteriorSystem<T>> system_of(const KernelMachine<T>& machine, const Execution& execution) {
  const auto of = [&]<class Map>(const Map& map) -> std::unique_ptr<PosteriorSystem<T>> {
    if constexpr (std::same_as<Map, FourierMap<T>>) {
      return feature_posterior(machine, map, execution);
    } else if constexpr (std::same_as<Map, KernelMap<T>>) {
      return machine.record().moments ? anchor_posterior(machine, map, execution)
                                      : row_posterior(machine, map, execution);
    } else {
      return row_posterior(machine, map, execution);
    }
  };
  return std::visit(of, machine.map());
}

}  // namespace

template <Real T>
struct Posterior<T>::State {
  const KernelMachine<T> machine;
  const Index p;
  const double alpha;
  Vector<double> scale;  // sqrt(noise / alpha) (p)
  std::unique_ptr<PosteriorSystem<T>> system;
  // In its place where targets are missing: outputs of different patterns are independent.
  std::vector<std::pair<std::vector<Index>, Posterior<T>>> parts;

  State(const KernelMachine<T>& fitted, const Execution& execution)
      : machine(fitted), p(machine.dim_out()), alpha(machine.record().alpha) {
    const std::string reason = why_no_deviation(machine.record());
    require(reason.empty(), "variance: {}", reason);
    for (const PatternRecord& pattern : machine.record().patterns) {
      parts.emplace_back(pattern.columns, Posterior<T>(pattern_machine(machine, pattern), execution));
    }
    if (!parts.empty()) return;
    scale = (machine.record().noise / alpha).cwiseSqrt();
    system = system_of(machine, execution);
  }

  // f less its mean: (rows, p) for each stream. Patterns have streams of their own, children of these.
  std::vector<Matrix<double>> draws(ConstView<T> X, const std::vector<Random>& streams,
                                    const Execution& execution) const {
    if (parts.empty()) {
      std::vector<Matrix<double>> out = system->draws(X, streams, execution);
      for (Matrix<double>& one : out) one = one * scale.asDiagonal();
      return out;
    }
    std::vector<Matrix<double>> out(streams.size(), Matrix<double>(X.rows(), p));
    std::uint32_t number = 0;
    for (const auto& [columns, part] : parts) {
      std::vector<Random> own;
      for (const Random& stream : streams) own.push_back(stream.child(number));
      const auto drawn = part.state_->draws(X, own, execution);
      for (std::size_t s = 0; s < out.size(); ++s) out[s](Eigen::all, columns) = drawn[s];
      ++number;
    }
    return out;
  }
};

template <Real T>
Posterior<T>::Posterior(const KernelMachine<T>& machine, const Execution& execution)
    : state_(std::make_unique<State>(machine, execution)) {}
template <Real T>
Posterior<T>::~Posterior() = default;
template <Real T>
Posterior<T>::Posterior(Posterior&&) noexcept = default;

template <Real T>
Matrix<double> Posterior<T>::covariance(ConstView<T> X, const Execution& execution) const {
  const Index p = state_->p;
  Matrix<double> out = Matrix<double>::Zero(X.rows(), p * p);
  for (const auto& [columns, part] : state_->parts) {
    const Matrix<double> own = part.covariance(X, execution);
    Index at = 0;
    for (const Index a : columns) {
      for (const Index b : columns) out.col(a * p + b) = own.col(at++);
    }
  }
  if (!state_->parts.empty()) return out;
  for (Index first = 0; first < X.rows(); first += posterior::rows_at_once) {
    execution.checkpoint({"variance", first, X.rows()});
    const Index count = std::min(posterior::rows_at_once, X.rows() - first);
    Matrix<double> block = state_->system->covariance(X.middleRows(first, count), execution);
    for (Index a = 0; a < p; ++a) {
      block.col(a * p + a).array() += state_->alpha;
      for (Index b = 0; b < p; ++b) block.col(a * p + b) *= state_->scale[a] * state_->scale[b];
    }
    out.middleRows(first, count) = block;
  }
  return out;
}

template <Real T>
Matrix<double> Posterior<T>::deviation(ConstView<T> X, const Execution& execution) const {
  const Index p = state_->p;
  const Matrix<double> all = covariance(X, execution);
  Matrix<double> out(X.rows(), p);
  for (Index a = 0; a < p; ++a) out.col(a) = all.col(a * p + a).cwiseSqrt();
  return out;
}

template <Real T>
std::vector<Matrix<double>> Posterior<T>::part_deviations(ConstView<T> X, const Execution& execution) const {
  const Index p = state_->p, terms = static_cast<Index>(state_->machine.kernel().terms().size());
  std::vector<Matrix<double>> out(static_cast<std::size_t>(terms), Matrix<double>(X.rows(), p));
  for (const auto& [columns, part] : state_->parts) {  // of one term
    out[0](Eigen::all, columns) = part.part_deviations(X, execution)[0];
  }
  if (!state_->parts.empty()) return out;
  for (Index first = 0; first < X.rows(); first += posterior::rows_at_once) {
    execution.checkpoint({"variance", first, X.rows()});
    const Index count = std::min(posterior::rows_at_once, X.rows() - first);
    const auto variances = state_->system->part_variances(X.middleRows(first, count), execution);
    for (std::size_t t = 0; t < out.size(); ++t) {
      out[t].middleRows(first, count) = variances[t].cwiseSqrt() * state_->scale.asDiagonal();
    }
  }
  return out;
}

template <Real T>
Matrix<double> Posterior<T>::derived_deviation(Derived what, ConstView<T> X, const Execution& execution) const {
  const DerivedPlan plan = derived_plan(state_->machine, what);
  require(state_->parts.empty() || what == Derived::gradient,
          "{}: where targets are missing in patterns that no coupling joins, deviations are known of gradients",
          derived_name(what));
  Matrix<double> out(X.rows(), plan.size());
  const Index d = state_->machine.dim_in();
  for (const auto& [columns, part] : state_->parts) {
    const Matrix<double> own = part.derived_deviation(what, X, execution);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      out.middleCols(columns[k] * d, d) = own.middleCols(static_cast<Index>(k) * d, d);
    }
  }
  if (!state_->parts.empty()) return out;
  Vector<double> scale = state_->scale;
  if (plan.basis != DerivedPlan::Basis::gradient)
    scale.setConstant(std::sqrt(scale.squaredNorm() / static_cast<double>(scale.size())));
  const Index features = std::visit([](const auto& map) { return map.n_features(); }, state_->machine.map());
  const Index at_once = derived_rows_at_once(plan, features, state_->p);
  for (Index first = 0; first < X.rows(); first += at_once) {
    execution.checkpoint({"variance", first, X.rows()});
    const Index count = std::min(at_once, X.rows() - first);
    out.middleRows(first, count) =
        state_->system->derived_variances(plan, scale, X.middleRows(first, count), execution).cwiseMax(0).cwiseSqrt();
  }
  return out;
}

template <Real T>
Matrix<double> Posterior<T>::interval(ConstView<T> X, double coverage, bool joint, const Execution& execution) const {
  const FitRecord& record = state_->machine.record();
  const std::string reason = why_no_interval(record);
  require(reason.empty(), "interval: {}", reason);
  const auto level = static_cast<Index>(interval_level(coverage));
  const Index p = state_->p;
  const Matrix<double> mean = state_->machine.predict(X, execution).template cast<double>();
  const Matrix<double> unit = deviation(X, execution);
  Matrix<double> out(X.rows(), 2 * p);
  for (Index a = 0; a < p; ++a) {
    const double q = record.left_out(level, joint ? p : a);
    for (Index i = 0; i < X.rows(); ++i) {
      const double half = q == 0 || unit(i, a) == 0 ? 0.0 : q * unit(i, a);
      out(i, 2 * a) = mean(i, a) - half;
      out(i, 2 * a + 1) = mean(i, a) + half;
    }
  }
  return out;
}

template <Real T>
std::vector<Matrix<double>> Posterior<T>::sample(ConstView<T> X, Index draws, std::uint64_t seed,
                                                 const Execution& execution) const {
  require(X.cols() == state_->machine.dim_in(), "sample: X has {} columns, the model takes {}", X.cols(),
          state_->machine.dim_in());
  require(draws > 0, "sample: the number of draws must be at least 1, found {}", draws);
  const Matrix<double> mean = state_->machine.predict(X, execution).template cast<double>();
  std::vector<Random> streams;
  for (Index s = 0; s < draws; ++s) {
    streams.push_back(Random(seed, Stream::posterior_draws).child(static_cast<std::uint32_t>(s)));
  }
  std::vector<Matrix<double>> out = state_->draws(X, streams, execution);
  for (Matrix<double>& one : out) one += mean;
  return out;
}

template class Posterior<float>;
template class Posterior<double>;

}  // namespace carmina
