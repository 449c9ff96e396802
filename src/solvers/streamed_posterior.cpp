// solvers/streamed_posterior.cpp -- sums of features over blocks of rows, then one factor.
//
// With H_g = FᵀF and c_a = Fᵀ y_a over the rows of a group, b = sum_a E_aᵀ c_a / v_a and A = I + sum_a E_aᵀ H E_a /
// v_a, beta = A^-1 b. The evidence takes sum_a |y_a - Psi_a beta|^2 / v_a + |beta|^2 from the same sums; it is smallest
// at beta, so rounding of beta enters by its square only.
#include "frequency_factors.hpp"

#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/fourier_map.hpp>
#include <carmina/solvers/moments.hpp>
#include <carmina/solvers/streamed_posterior.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace carmina {
namespace {

// The sums of one group of outputs.
class GroupSums {
 public:
  GroupSums(const FourierMap<double>& map, const std::vector<Index>& outputs, const Vector<double>& origin,
            const Execution& execution)
      : outputs_(outputs), moments_(map.n_features(), origin(outputs)), builder_(map, moments_, execution) {}
  GroupSums(const GroupSums&) = delete;
  GroupSums& operator=(const GroupSums&) = delete;

  // Rows of the block whose targets are there.
  template <Real T>
  void add(const RowBlock<T>& block) {
    const Index d = block.dim_in, p = size();
    X_.resize(block.rows, d), Y_.resize(block.rows, p), weights_.resize(block.rows);
    Index count = 0;
    for (Index i = 0; i < block.rows; ++i) {
      const T* y = block.Y + i * block.y_stride;
      const double w = block.weights ? static_cast<double>(block.weights[i]) : 1;
      if (w == 0 || std::isnan(y[outputs_.front()])) continue;
      const T* x = block.X + i * block.x_stride;
      for (Index j = 0; j < d; ++j) X_(count, j) = static_cast<double>(x[j]);
      for (Index k = 0; k < p; ++k) Y_(count, k) = static_cast<double>(y[outputs_[static_cast<std::size_t>(k)]]);
      weights_[count++] = w;
    }
    if (count == 0) return;
    builder_.add({X_.data(), Y_.data(), block.weights ? weights_.data() : nullptr, count, d, p, d, p, block.first_row});
  }

  const std::vector<Index>& outputs() const { return outputs_; }
  const Moments& moments() const { return moments_; }
  Index size() const { return static_cast<Index>(outputs_.size()); }

 private:
  std::vector<Index> outputs_;
  Moments moments_;
  MomentsBuilder<FourierMap<double>> builder_;
  Matrix<double> X_, Y_;
  Vector<double> weights_;
};

}  // namespace

template <Real T>
FourierPosterior streamed_posterior(RowSource<T>& rows, const WeightedFrequencies& at, const Vector<double>& origin,
                                    const std::vector<std::vector<Index>>& groups, const PosteriorBlocks& blocks,
                                    const Execution& execution) {
  require(!at.separate, "posterior: separate outputs have no common one");
  require(at.W.cols() == rows.dim_in() && at.dim_out() == rows.dim_out() && origin.size() == rows.dim_out(),
          "posterior: frequencies are for {} inputs and {} outputs, the rows have {} and {}", at.W.cols(), at.dim_out(),
          rows.dim_in(), rows.dim_out());
  const FourierMap<double> map(at.W);
  const FrequencyFactors factors(at, std::sqrt(static_cast<double>(at.size())));
  const Index m = map.n_features(), r = factors.columns();
  Execution within = execution;  // the builder takes a quarter of the budget
  within.memory_budget = 4 * static_cast<std::size_t>(blocks.feature_rows) *
                         static_cast<std::size_t>(m + at.dim_out() + 1) * sizeof(double);
  std::vector<std::unique_ptr<GroupSums>> sums;
  for (const auto& outputs : groups) sums.push_back(std::make_unique<GroupSums>(map, outputs, origin, within));
  rows.rewind();
  for (auto block = rows.next(blocks.rows_at_once); block.rows > 0; block = rows.next(blocks.rows_at_once)) {
    for (const auto& group : sums) group->add(block);
    execution.checkpoint({"fitting", block.first_row + block.rows, rows.rows().value_or(0)});
  }

  FourierPosterior result;
  result.L.setIdentity(r, r);
  result.beta.setZero(r);
  double value = 0;
  for (const auto& group : sums) {
    const Moments& moments = group->moments();
    Matrix<double> H = moments.sums.topLeftCorner(m, m);
    H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
    for (Index k = 0; k < group->size(); ++k) {
      const Index a = group->outputs()[static_cast<std::size_t>(k)];
      result.L += factors.expand(factors.expand(H, a).transpose(), a) / at.noise[a];
      result.beta += factors.expand(moments.cross().row(k), a).row(0).transpose() / at.noise[a];
      value -= moments.total_weight() / 2 * std::log(2 * std::numbers::pi * at.noise[a]);
    }
  }
  {
    const BlasThreads threads(r < 1024 ? 1 : execution.thread_count());
    require(result.L.allFinite() && factor_with_jitter(result.L), "posterior: the parameters are out of range");
    backend::cholesky_solve(r, 1, result.L.data(), r, result.beta.data(), 1);
  }
  value -= result.beta.squaredNorm() / 2 + result.L.diagonal().array().log().sum();
  for (const auto& group : sums) {
    const Moments& moments = group->moments();
    const auto H = moments.sums.topLeftCorner(m, m).selfadjointView<Eigen::Lower>();
    for (Index k = 0; k < group->size(); ++k) {
      const Index a = group->outputs()[static_cast<std::size_t>(k)], at_target = m + k;
      const Vector<double> theta = factors.contract(result.beta.transpose(), a).row(0).transpose();
      const Vector<double> fitted = H * theta;
      const double squares =
          moments.sums(at_target, at_target) - 2 * moments.cross().row(k).dot(theta) + theta.dot(fitted);
      value -= squares / (2 * at.noise[a]);
    }
  }
  result.evidence = value;
  require(std::isfinite(value), "posterior: the parameters are out of range");
  return result;
}
template FourierPosterior streamed_posterior(RowSource<float>&, const WeightedFrequencies&, const Vector<double>&,
                                             const std::vector<std::vector<Index>>&, const PosteriorBlocks&,
                                             const Execution&);
template FourierPosterior streamed_posterior(RowSource<double>&, const WeightedFrequencies&, const Vector<double>&,
                                             const std::vector<std::vector<Index>>&, const PosteriorBlocks&,
                                             const Execution&);

}  // namespace carmina
