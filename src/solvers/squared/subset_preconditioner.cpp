// solvers/squared/subset_preconditioner.cpp -- M from the Gram matrix of a sample, and its factor.
#include "solvers/squared/subset_preconditioner.hpp"
#include "backends/tiled.hpp"

#include <algorithm>
#include <cmath>

namespace carmina {

Index SubsetPreconditioner::sample_rows(Index rows, Index features) {
  const Index wanted = std::min(8 * features, rows / 8);
  return wanted >= 3 * features / 2 ? wanted : 0;
}

SubsetPreconditioner::SubsetPreconditioner(const FeatureRows& rows, Index wanted, double total_weight, bool centred,
                                           double delta, double alpha, const Execution& execution)
    : solve_(rows.subset_solve(wanted, total_weight, centred, delta, alpha)),
      order_(rows.features()),
      execution_(execution) {
  if (solve_) return;
  const auto s = static_cast<double>(wanted), m = static_cast<double>(order_);
  const double noise = 2 * delta * total_weight / std::sqrt(s * m);
  const bool coarse = order_ >= large && alpha >= 2 * unit_roundoff(backend::Reduced::bfloat16) * noise;
  SubsetGram gram = rows.subset_gram(wanted, coarse ? backend::Reduced::bfloat16 : backend::Reduced::single);
  // The Gram matrix becomes M, both triangles.
  Matrix<float>& H = gram.sums;
  const double scale = delta * total_weight / gram.weight;
  constexpr Index side = 64;
  std::vector<double> squares(static_cast<std::size_t>((order_ + side - 1) / side), 0.0);
  parallel_for(static_cast<Index>(squares.size()), execution.thread_count(), [&](Index task, int) {
    for (Index i = task * side; i < std::min(order_, (task + 1) * side); ++i) {
      const double mean = centred ? gram.feature_sums[i] / gram.weight : 0.0;
      for (Index j = 0; j <= i; ++j) {
        const double entry = scale * (static_cast<double>(H(i, j)) - mean * gram.feature_sums[j]);
        H(i, j) = static_cast<float>(i == j ? entry + alpha : entry);
        squares[static_cast<std::size_t>(task)] +=
            (i == j ? 1 : 2) * static_cast<double>(H(i, j)) * static_cast<double>(H(i, j));
      }
    }
  });
  double square = 0;
  for (const double part : squares) square += part;
  const bool single = rows.roundoff() > 0x1p-30;
  factor(std::move(H), single && order_ >= large && alpha >= 0x1p-18 * std::sqrt(square), execution);
}

void SubsetPreconditioner::operator()(const Matrix<double>& R, Matrix<double>& Z) const {
  if (solve_) return solve_(R, Z);
  Z = R;
  if (single_.size() > 0) {
    // Columns of length one: a residual may be below what float can hold.
    const Eigen::RowVectorXd size = R.colwise().norm().unaryExpr([](double x) { return x > 0 ? x : 1; });
    Matrix<float> narrow = (R * size.cwiseInverse().asDiagonal()).cast<float>();
    backend::cholesky_solve(order_, R.cols(), single_.data(), order_, narrow.data(), narrow.outerStride(), execution_);
    Z = narrow.cast<double>() * size.asDiagonal();
  } else if (double_.size() > 0) {
    backend::cholesky_solve(order_, Z.cols(), double_.data(), order_, Z.data(), Z.outerStride(), execution_);
  }
}

void SubsetPreconditioner::factor(Matrix<float> H, bool narrow, const Execution& execution) {
  if (narrow) {
    single_.resize(order_, order_);
    constexpr Index strip = 64;
    parallel_for((order_ + strip - 1) / strip, execution.thread_count(), [&](Index task, int) {
      const Index first = task * strip, count = std::min(strip, order_ - first);
      single_.middleRows(first, count) = H.middleRows(first, count);
    });
    if (backend::cholesky(order_, single_.data(), order_, execution)) return;
    single_.resize(0, 0);
  }
  double_ = H.cast<double>();
  if (!backend::cholesky(order_, double_.data(), order_, execution)) double_.resize(0, 0);
}

}  // namespace carmina
