// models/fit/leave_out.cpp -- the sample of rows, their leverages and errors, and the table of a model.
#include "models/fit/leave_out.hpp"
#include "models/fit/ways.hpp"

#include <carmina/models/posterior.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace carmina {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// For each level the smallest score s with rows of weight (W + 1) level not above s; scores (s), W the sum of weights.
Vector<double> conformal_quantiles(const Vector<double>& scores, const Vector<double>& weights) {
  constexpr double rounding = 1e-12;
  std::vector<Index> order(static_cast<std::size_t>(scores.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return scores[a] < scores[b]; });
  const std::vector<double>& levels = interval_levels();
  Vector<double> found = Vector<double>::Constant(static_cast<Index>(levels.size()), infinite);
  const double total = weights.sum();
  double below = 0;
  std::size_t level = 0;
  for (const Index i : order) {
    below += weights[i];
    while (level < levels.size() && below >= (total + 1) * levels[level] * (1 - rounding)) {
      found[static_cast<Index>(level++)] = scores[i];
    }
  }
  return found;
}

}  // namespace

NoiseTable noise_table(const LeftOutErrors& left, std::optional<double> known) {
  const Index s = left.errors.rows(), p = left.errors.cols();
  NoiseTable table{Vector<double>::Zero(p), {}};
  double weight = 0;
  for (Index i = 0; i < s; ++i) {
    if (!left.errors.row(i).allFinite()) continue;
    weight += left.weights[i];
    table.noise += left.weights[i] * (left.errors.row(i).cwiseAbs2().cwiseQuotient(left.variances.row(i))).transpose();
  }
  if (!(weight > 0)) return {};
  table.noise /= weight;
  if (known) table.noise.setConstant(*known);
  Matrix<double> scores(s, p + 1);
  for (Index i = 0; i < s; ++i) {
    for (Index a = 0; a < p; ++a) {
      const double e = std::abs(left.errors(i, a)), unit = std::sqrt(table.noise[a] * left.variances(i, a));
      scores(i, a) = e == 0 ? 0.0 : e / unit;
    }
    scores(i, p) = scores.row(i).head(p).maxCoeff();
  }
  table.quantiles.resize(static_cast<Index>(interval_levels().size()), p + 1);
  for (Index a = 0; a <= p; ++a) table.quantiles.col(a) = conformal_quantiles(scores.col(a), left.weights);
  return table;
}

// r = y - o + (o - b) - cᵀ phi is linear in [phi, y - o, 1], whose products the sums hold.
Vector<double> noise_of_sums(const Moments& moments, const Matrix<double>& coefficients,
                             const Vector<double>& intercept, const Vector<double>& freedom) {
  const Index m = moments.features, p = moments.outputs;
  Matrix<double> Z = Matrix<double>::Zero(moments.sums.rows(), p);
  Z.topRows(m) = -coefficients;
  Z.middleRows(m, p).setIdentity();
  Z.row(m + p) = (moments.origin - intercept).transpose();
  const Matrix<double> SZ = moments.sums.selfadjointView<Eigen::Lower>() * Z;
  Vector<double> noise(p);
  for (Index a = 0; a < p; ++a) {
    const double left = moments.total_weight() - freedom[a];
    if (!(left > 0)) return {};
    noise[a] = std::max(0.0, Z.col(a).dot(SZ.col(a))) / left;
  }
  return noise;
}

namespace {

constexpr double most_left_out = 5000;

// Features of a sketch, which cost a product with all of its anchors, are kept: they are needed many times.
double bytes_of_row(const FitTask& t) {
  const double numbers = 5 * t.p + square(t.separable ? 1 : t.p);
  return (t.d + t.p + (t.sketched() ? t.m : 0)) * t.scalar_bytes + numbers * number_bytes;
}

}  // namespace

Index rows_left_out(const FitTask& t) {
  const double held = memory_limit(t.options.execution) / 4 / bytes_of_row(t);
  return static_cast<Index>(std::clamp(held, 2.0, most_left_out));
}

// Columns of the system for some rows at a time, twice where there are features, and what is kept of each row.
void add_left_out(MemoryUse& use, const FitTask& t, double order, double features) {
  if (!t.options.estimate_noise || t.path || t.folds > 0) return;
  const double rows = std::min(t.n, static_cast<double>(rows_left_out(t))), block = t.separable ? 1 : t.p;
  use.add("rows left out", rows * bytes_of_row(t) + numbers_left_out(rows, order, block, features) * number_bytes);
}

template <Real T>
RowsLeftOut<T>::RowsLeftOut(FitPipeline<T>& fit, const PosedSystem<T>& posed, double alpha, const Moments* sums)
    : fit_(fit), posed_(posed), alpha_(alpha) {
  if (!fit.options.estimate_noise || !(alpha > 0)) return;
  sums ? of_features(*sums) : of_dual();
}

template <Real T>
RowSampler RowsLeftOut<T>::sampler() const {
  return {fit_.summary.copies, rows_left_out(fit_.task), 1, Random(fit_.options.seed, Stream::rows).child(1)};
}

template <Real T>
void RowsLeftOut<T>::of_features(const Moments& sums) {
  PhaseTimer timer(fit_.report, "leaving out");
  held_ = sample_rows(fit_.rows, sampler(), fit_.execution, std::min(fit_.summary.rows, rows_left_out(fit_.task)));
  source_.emplace(held_.X, held_.Y, held_.weights_or_null());
  data_.emplace(*source_);
  features_ = posed_.features(*data_);
  if (fit_.options.fit_intercept) mean_ = sums.feature_sums().transpose() / sums.total_weight();
  Vector<double> weights = Vector<double>::Ones(held_.rows());
  if (held_.weights.size() > 0) weights = held_.weights.template cast<double>();
  left_out_.emplace(posed_.expansion ? nullptr : &fit_.outputs, fit_.rows.dim_out(), alpha_, fit_.options.fit_intercept,
                    sums.total_weight(), std::move(weights));
}

template <Real T>
void RowsLeftOut<T>::of_dual() {
  const DualRows& dual = posed_.dual;
  const Index n = dual.targets.rows();
  const Vector<double> all = dual.weights.size() > 0 ? dual.weights : Vector<double>(Vector<double>::Ones(n));
  RowSampler sample = sampler();
  std::vector<double> weights;
  for (Index i = 0; i < n; ++i) {
    const double copies = weight_copies(all[i]), taken = sample.take(copies);
    if (taken == 0) continue;
    places_.push_back(i);
    weights.push_back(taken == copies ? all[i] : taken);
  }
  root_weights_ = all.cwiseSqrt();
  left_out_.emplace(fit_.task.separable ? &fit_.outputs : nullptr, dual.targets.cols(), alpha_,
                    fit_.options.fit_intercept, all.sum(),
                    Eigen::Map<const Vector<double>>(weights.data(), static_cast<Index>(weights.size())));
}

template <Real T>
FactorUse RowsLeftOut<T>::use() {
  if (!left_out_) return {};
  return [this](double delta, const Whiten& whiten) {
    if (features_) {
      left_out_->add(delta, whiten, *features_, mean_, posed_.expansion ? &*posed_.expansion : nullptr);
    } else {
      left_out_->add(delta, whiten, places_, root_weights_);
    }
  };
}

template <Real T>
void RowsLeftOut<T>::finish(const LinearSolution& solution) {
  if (!left_out_) return;
  LeftOutErrors found;
  if (features_) {
    const OutputFactor& outputs = fit_.outputs;
    const bool rotated = !posed_.expansion && !outputs.identity();
    const Matrix<double> C =
        rotated ? Matrix<double>(solution.coefficients * outputs.root().transpose()) : solution.coefficients;
    Matrix<double> F;
    features_->forward(C, F);
    Matrix<double> R = held_.Y.template cast<double>() - F;
    R.rowwise() -= solution.intercept.transpose();
    found = left_out_->of_residuals(R);
  } else {
    found = left_out_->of_dual(solution, posed_.dual, places_);
  }
  const NoiseTable table = noise_table(found, fit_.known_noise);
  fit_.noise = fit_.options.optimism * table.noise;
  fit_.left_out = table.quantiles;
}

template class RowsLeftOut<float>;
template class RowsLeftOut<double>;

}  // namespace carmina
