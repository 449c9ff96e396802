// solvers/evidence/fourier_evidence.cpp -- evidence by the matrix of features: one pass for the sums, one for the
// residuals and the frequencies' gradient.
#include "solvers/evidence/fourier_evidence.hpp"
#include "backends/tiled.hpp"
#include "features/feature_rows.hpp"
#include "solvers/evidence/frequency_factors.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace carmina {
WeightedFrequencies WeightedFrequencies::zeros() const {
  return {Matrix<double>::Zero(W.rows(), W.cols()), Matrix<double>::Zero(real.rows(), real.cols()),
          Matrix<double>::Zero(imaginary.rows(), imaginary.cols()), Vector<double>::Zero(noise.size()), separate};
}

template <Real T>
FourierEvidence<T>::FourierEvidence(ConstView<T> X, ConstView<T> Y, const T* weights)
    : dim_in_(X.cols()), dim_out_(Y.cols()) {
  require(X.rows() == Y.rows(), "evidence: Y has {} rows, X has {}", Y.rows(), X.rows());
  require(X.rows() > 0 && X.cols() > 0 && Y.cols() > 0, "evidence: the data is empty");
  require(X.allFinite(), "evidence: an input is NaN or infinite");
  const Index n = X.rows();
  // Outputs whose targets are there in the same rows make one group.
  std::vector<std::vector<bool>> present(static_cast<std::size_t>(dim_out_));
  for (Index a = 0; a < dim_out_; ++a) {
    auto& there = present[static_cast<std::size_t>(a)];
    for (Index i = 0; i < n; ++i) {
      require(!std::isinf(Y(i, a)), "evidence: row {}: a target is infinite", i + 1);
      there.push_back(!std::isnan(Y(i, a)) && (!weights || weights[i] > 0));
    }
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
      return present[static_cast<std::size_t>(group.outputs.front())] == there;
    });
    if (same != groups_.end()) {
      same->outputs.push_back(a);
    } else {
      groups_.emplace_back().outputs.push_back(a);
    }
  }
  for (Group& group : groups_) {
    const auto& there = present[static_cast<std::size_t>(group.outputs.front())];
    const Index count = std::count(there.begin(), there.end(), true), p = static_cast<Index>(group.outputs.size());
    require(count > 0, "evidence: output {} has no target at all", group.outputs.front() + 1);
    group.X.resize(count, dim_in_), group.Y.resize(count, p);
    if (weights) group.weights.resize(count);
    Index at = 0;
    for (Index i = 0; i < n; ++i) {
      if (!there[static_cast<std::size_t>(i)]) continue;
      group.X.row(at) = X.row(i);
      for (Index k = 0; k < p; ++k) group.Y(at, k) = Y(i, group.outputs[static_cast<std::size_t>(k)]);
      if (weights) group.weights[at] = weights[i];
      ++at;
    }
    group.total_weight = weights ? group.weights.template cast<double>().sum() : static_cast<double>(count);
    targets_ += p * count;
  }
}

template <Real T>
void FourierEvidence<T>::check(const WeightedFrequencies& at) const {
  require(at.W.cols() == dim_in_ && at.dim_out() == dim_out_ && at.real.rows() == at.W.rows(),
          "evidence: frequencies are {} x {} for {} outputs, the data has {} inputs and {} outputs", at.W.rows(),
          at.W.cols(), at.dim_out(), dim_in_, dim_out_);
}

template <Real T>
bool FourierEvidence<T>::in_range(const WeightedFrequencies& at) const {
  return at.W.allFinite() && at.real.allFinite() && at.imaginary.allFinite() && at.noise.allFinite() &&
         at.noise.minCoeff() > 0;
}

template <Real T>
double FourierEvidence<T>::operator()(const WeightedFrequencies& at, WeightedFrequencies* gradient,
                                      const Execution& execution) const {
  const auto n = static_cast<double>(targets_), m = 2.0 * static_cast<double>(at.size()),
             r = static_cast<double>(at.dim_coef());
  const bool weighted = groups_.front().weights.size() > 0;
  const double features = 3 * n * m * m + 3 * r * r * r, targets = 3 * n * n * r + 2 * n * n * n;
  const bool one_system = !at.separate || at.dim_out() == 1;
  return !weighted && one_system && n < 2 * r && targets < features ? by_targets(at, gradient, execution)
                                                                    : by_features(at, gradient, execution);
}

template <Real T>
FourierPosterior FourierEvidence<T>::posterior(const WeightedFrequencies& at, const Execution& execution) const {
  FourierPosterior result;
  require(!at.separate, "evidence: separate outputs have no common posterior");
  by_features(at, nullptr, execution, &result);
  require(std::isfinite(result.evidence), "evidence: the parameters are out of range");
  return result;
}

template <Real T>
double FourierEvidence<T>::by_features(const WeightedFrequencies& at, WeightedFrequencies* gradient,
                                       const Execution& execution, FourierPosterior* posterior) const {
  check(at);
  constexpr double nowhere = -std::numeric_limits<double>::infinity();
  if (posterior) posterior->evidence = nowhere;
  if (!in_range(at)) return nowhere;
  const FourierMap<T> map(at.W.template cast<T>());
  const FrequencyFactors factors(at, std::sqrt(static_cast<double>(at.size())));
  const Index m = map.n_features(), r = factors.columns();
  Execution quiet = execution;
  quiet.progress = {};  // an evaluation is one of many
  const auto of_group = [&](const Group& group, const auto& pass) {
    MemoryRows<T> memory(group.X, group.Y, group.weights.size() > 0 ? group.weights.data() : nullptr);
    const DataRows<T> data(memory);
    pass(*rows_of(map, data, FeatureStorage::none, quiet));
  };

  // One system for all outputs, or one for each.
  struct System {
    Matrix<double> A;  // lower triangle; then its factor L, with a gradient the inverse
    Vector<double> beta;
  };
  std::vector<System> systems(static_cast<std::size_t>(at.separate ? dim_out_ : 1));
  const auto system_of = [&](Index a) -> System& { return systems[static_cast<std::size_t>(at.separate ? a : 0)]; };
  for (System& system : systems) system.A.setIdentity(r, r), system.beta.setZero(r);

  // First pass: H = FᵀF and FᵀY of each group; A and the right-hand side.
  std::vector<Matrix<double>> grams;  // H of each group
  for (const Group& group : groups_) {
    const auto p = static_cast<Index>(group.outputs.size());
    Moments moments(m, Vector<double>::Zero(p));
    of_group(group, [&](const FeatureRows& rows) { rows.moments(moments); });
    Matrix<double>& H = grams.emplace_back(moments.sums.topLeftCorner(m, m));
    mirror(H, execution);
    for (Index k = 0; k < p; ++k) {
      const Index a = group.outputs[static_cast<std::size_t>(k)];
      System& system = system_of(a);
      factors.add_system(H, a, 1 / at.noise[a], system.A, execution);
      system.beta += factors.expand(moments.cross().row(k), a).row(0).transpose() / at.noise[a];
    }
  }
  double value = 0;
  for (System& system : systems) {
    Matrix<double>& A = system.A;
    if (!std::isfinite(A.sum()) || !factor_with_jitter(A, execution)) return nowhere;
    backend::cholesky_solve(r, 1, A.data(), A.outerStride(), system.beta.data(), 1);
    value -= system.beta.squaredNorm() / 2 + A.diagonal().array().log().sum();
    if (!gradient) continue;
    if (posterior) posterior->L = A;
    backend::cholesky_inverse(r, A.data(), r, execution);
    mirror(A, execution);
  }
  Matrix<double> Theta(m, dim_out_);  // column a is E_a beta
  for (Index a = 0; a < dim_out_; ++a) {
    Theta.col(a) = factors.contract(system_of(a).beta.transpose(), a).row(0).transpose();
  }
  if (gradient) *gradient = at.zeros();

  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    const auto p = static_cast<Index>(group.outputs.size());
    const auto chosen = [&](const auto& whole) { return whole(Eigen::all, group.outputs).eval(); };
    const Matrix<double> theta = chosen(Theta);
    const Vector<double> noise = at.noise(group.outputs);
    Matrix<double> S;
    if (gradient) {
      const Matrix<double>& H = grams[g];
      S.setZero(m, m);
      for (const Index a : group.outputs) {
        const double v = at.noise[a];
        // A^-1 E_aᵀ, then E_a of it: the covariance of E_a beta
        const Matrix<double> half = transposed(factors.contract_rows(system_of(a).A, a, execution), execution),
                             own = factors.contract_rows(half, a, execution);
        // dL/dE_a = Fᵀ alpha_a betaᵀ - H E_a A^-1 / v: its second part; of v that with tr(A^-1 E_aᵀ H E_a).
        factors.add_gradient(
            a, [&](Index row, Index column) { return -H.row(row).dot(half.row(column)) / v; }, *gradient);
        gradient->noise[a] += H.cwiseProduct(own).sum() / (2 * v * v);
        S += own / v;
      }
    }
    ResidualSums sums;
    of_group(group, [&](const FeatureRows& rows) { sums = rows.residuals(theta, gradient ? &S : nullptr, noise); });
    for (Index k = 0; k < p; ++k) {
      const double v = noise[k];
      value -= sums.squares[k] / (2 * v) + group.total_weight / 2 * std::log(2 * std::numbers::pi * v);
      if (!gradient) continue;
      const Index a = group.outputs[static_cast<std::size_t>(k)];
      const Vector<double>& beta = system_of(a).beta;
      factors.add_gradient(
          a, [&](Index row, Index column) { return sums.cross(row, k) * beta[column] / v; }, *gradient);
      gradient->noise[a] += (sums.squares[k] / v - group.total_weight) / (2 * v);
    }
    if (gradient) gradient->W += sums.frequency;
  }
  if (posterior) {
    posterior->evidence = value;
    posterior->beta = std::move(systems.front().beta);
    if (!gradient) posterior->L = std::move(systems.front().A);
  }
  return std::isfinite(value) ? value : nowhere;
}

template class FourierEvidence<float>;
template class FourierEvidence<double>;

}  // namespace carmina
