// solvers/evidence/streamed_posterior.cpp -- sums of features over blocks of rows, then one factor.
//
// With H_g = FᵀF and c_a = Fᵀ y_a over the rows of a group, b = sum_a E_aᵀ c_a / v_a and A = I + sum_a E_aᵀ H E_a /
// v_a, beta = A^-1 b. The evidence takes sum_a |y_a - Psi_a beta|^2 / v_a + |beta|^2 from the same sums; it is smallest
// at beta, so rounding of beta enters by its square only.
#include "solvers/evidence/streamed_posterior.hpp"
#include "features/feature_rows.hpp"
#include "solvers/evidence/frequency_factors.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace carmina {
namespace {

// Rows in double with the targets of one group of outputs. Where those are missing a row has weight zero.
template <Real T>
class GroupRows final : public RowSource<double> {
 public:
  GroupRows(const CountedRows<T>& rows, const std::vector<Index>& outputs)
      : rows_(rows.source), count_(rows.rows), outputs_(outputs) {}

  Index dim_in() const override { return rows_.dim_in(); }
  Index dim_out() const override { return static_cast<Index>(outputs_.size()); }
  std::optional<Index> rows() const override { return count_; }
  void rewind() override { rows_.rewind(); }
  std::string place(Index row) const override { return rows_.place(row); }
  double held_bytes(Index rows_at_once) const override {
    return rows_.held_bytes(rows_at_once) + static_cast<double>(rows_at_once * (dim_in() + dim_out() + 1)) * 8;
  }

  RowBlock<double> next(Index max_rows) override {
    const RowBlock<T> block = rows_.next(max_rows);
    const Index n = block.rows, d = dim_in(), p = dim_out();
    if (n == 0) return {};
    X_ = block.inputs().template cast<double>();
    Y_ = block.targets()(Eigen::all, outputs_).template cast<double>();
    weights_.setOnes(n);
    bool weighted = block.weights != nullptr;
    if (weighted) weights_ = Eigen::Map<const Vector<T>>(block.weights, n).template cast<double>();
    weighted = remove_gaps() || weighted;
    return {X_.data(), Y_.data(), weighted ? weights_.data() : nullptr, n, d, p, d, p, block.first_row};
  }

 private:
  bool remove_gaps() {
    bool any = false;
    for (Index i = 0; i < Y_.rows(); ++i) {
      if (!std::isnan(Y_(i, 0))) continue;
      Y_.row(i).setZero();
      weights_[i] = 0;
      any = true;
    }
    return any;
  }

  RowSource<T>& rows_;
  Index count_;
  const std::vector<Index>& outputs_;
  Matrix<double> X_, Y_;
  Vector<double> weights_;
};

template <Real T>
Moments group_moments(const FourierMap<double>& map, const CountedRows<T>& rows, const std::vector<Index>& outputs,
                      const Vector<double>& origin, const Execution& execution, const SavedLoop& saved) {
  GroupRows<T> group(rows, outputs);
  DataRows<double> data({&group}, rows.processes);
  data.read_at_once(rows.at_once);
  Moments moments(map.n_features(), origin(outputs));
  rows_of(map, data, FeatureStorage::none, execution)->moments(moments, saved);
  require_finite(moments);
  return moments;
}

}  // namespace

template <Real T>
FourierPosterior streamed_posterior(const CountedRows<T>& rows, const WeightedFrequencies& at,
                                    const Vector<double>& origin, const std::vector<std::vector<Index>>& groups,
                                    const Execution& execution, const SavedLoop& saved) {
  require(!at.separate, "posterior: separate outputs have no common one");
  const Index d = rows.source.dim_in(), p = rows.source.dim_out();
  require(at.W.cols() == d && at.dim_out() == p && origin.size() == p,
          "posterior: frequencies are for {} inputs and {} outputs, the rows have {} and {}", at.W.cols(), at.dim_out(),
          d, p);
  const FourierMap<double> map(at.W);
  const FrequencyFactors factors(at, std::sqrt(static_cast<double>(at.size())));
  const Index m = map.n_features(), r = factors.columns();
  std::vector<Moments> sums;
  for (const auto& outputs : groups) {
    const SavedLoop own{saved.in, format_text("{} {}", saved.name, sums.size())};
    sums.push_back(group_moments(map, rows, outputs, origin, execution, own));
  }

  FourierPosterior result;
  result.L.setIdentity(r, r);
  result.beta.setZero(r);
  double value = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Moments& moments = sums[g];
    Matrix<double> H = moments.sums.topLeftCorner(m, m);
    mirror(H, execution);
    for (Index k = 0; k < moments.outputs; ++k) {
      const Index a = groups[g][static_cast<std::size_t>(k)];
      factors.add_system(H, a, 1 / at.noise[a], result.L, execution);
      result.beta += factors.expand(moments.cross().row(k), a).row(0).transpose() / at.noise[a];
      value -= moments.total_weight() / 2 * std::log(2 * std::numbers::pi * at.noise[a]);
    }
  }
  require(result.L.allFinite() && factor_with_jitter(result.L, execution),
          "posterior: the parameters are out of range");
  backend::cholesky_solve(r, 1, result.L.data(), r, result.beta.data(), 1);
  value -= result.beta.squaredNorm() / 2 + result.L.diagonal().array().log().sum();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Moments& moments = sums[g];
    const auto H = moments.sums.topLeftCorner(m, m).selfadjointView<Eigen::Lower>();
    for (Index k = 0; k < moments.outputs; ++k) {
      const Index a = groups[g][static_cast<std::size_t>(k)], at_target = m + k;
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
template FourierPosterior streamed_posterior(const CountedRows<float>&, const WeightedFrequencies&,
                                             const Vector<double>&, const std::vector<std::vector<Index>>&,
                                             const Execution&, const SavedLoop&);
template FourierPosterior streamed_posterior(const CountedRows<double>&, const WeightedFrequencies&,
                                             const Vector<double>&, const std::vector<std::vector<Index>>&,
                                             const Execution&, const SavedLoop&);

}  // namespace carmina
