// solvers/subset_preconditioner.hpp -- a factor of the normal equations of a few rows, to precondition those of all
// rows.
#pragma once
#include <carmina/backends/blas.hpp>
#include <carmina/backends/reduced_gram.hpp>
#include <carmina/solvers/squared_loss.hpp>

#include <cmath>
#include <concepts>
#include <vector>

namespace carmina {

// M = delta (w / w_s) H_s + alpha I, H_s the centred Gram matrix of a sample of s rows, spread evenly over the source.
// Were the sample as good as one of a random Gaussian design, M^-1 (delta H + alpha I) would have eigenvalues within
// (1 +- sqrt(m / s))^2 and cg would cut the error by sqrt(m / s) each time. Rows that matter more than others make it
// slower, eigenvalues of H below alpha, of which there are many as a rule, faster.
//
// Nothing here need be exact. Rounding the features to unit roundoff u changes M by a random matrix of norm about
// 2 u delta w / sqrt(s m), features having squares of mean 1 / m: bfloat16 serves while that is well below alpha, else
// float. The factor of data in float is in float unless rounding, about 2^-24 |M| at each of many steps, comes near
// alpha. In small systems there is nothing to gain, and iterations to lose (45 in the place of 34 in one of order 40).
template <ScalarMap M>
class SubsetPreconditioner {
 public:
  using T = typename M::Scalar;

  static constexpr Index large = 1024;  // orders from here on are worth less than double

  // A number of rows that serves most fits: 8 m, or fewer that are a small part of them. 0: there are too few.
  static Index sample_rows(Index rows, Index features) {
    const Index wanted = std::min(8 * features, rows / 8);
    return wanted >= 3 * features / 2 ? wanted : 0;
  }

  SubsetPreconditioner(const M& map, RowSource<T>& rows, Index row_count, Index wanted, Index rows_at_once,
                       bool centred, double delta, double alpha, const Execution& execution)
      : order_(map.n_features()) {
    const Sample sample(rows, row_count, wanted, rows_at_once);
    const auto s = static_cast<double>(sample.X.rows()), m = static_cast<double>(order_);
    const double noise = 2 * delta * sample.total_weight / std::sqrt(s * m);
    const bool coarse = order_ >= large && alpha >= 2 * unit_roundoff(backend::Reduced::bfloat16) * noise;
    backend::ReducedGram gram(order_, coarse ? backend::Reduced::bfloat16 : backend::Reduced::single, execution);
    gram.add(sample.X.rows(), [&](Index first, Index count, float* out, int) { sample.fill(map, first, count, out); });
    Vector<double> sums = Vector<double>::Zero(order_);
    if (centred) sums = sample.feature_sums(map, execution);
    assemble(gram.sums, sums, sample, delta, alpha);
    factor(std::move(gram.sums), alpha, execution);
  }

  // Z = M^-1 R; the identity where M was singular.
  void operator()(const Matrix<double>& R, Matrix<double>& Z) const {
    Z = R;
    BlasThreads blas(1);  // a few columns: reading the factor takes longer than computing with it
    if (single_.size() > 0) {
      // Columns of length one: a residual may be below what float can hold.
      const Eigen::RowVectorXd size = R.colwise().norm().unaryExpr([](double x) { return x > 0 ? x : 1; });
      Matrix<float> narrow = (R * size.cwiseInverse().asDiagonal()).template cast<float>();
      backend::cholesky_solve(order_, R.cols(), single_.data(), order_, narrow.data(), narrow.outerStride());
      Z = narrow.template cast<double>() * size.asDiagonal();
    } else if (double_.size() > 0) {
      backend::cholesky_solve(order_, Z.cols(), double_.data(), order_, Z.data(), Z.outerStride());
    }
  }

 private:
  // Every row whose number times wanted / count passes a whole number.
  struct Sample {
    Matrix<T> X;
    std::vector<T> weights;
    double weight = 0, total_weight = 0;  // of the sample, of all rows

    Sample(RowSource<T>& rows, Index count, Index wanted, Index rows_at_once) {
      std::vector<T> cells;
      const double step = std::min(1.0, static_cast<double>(wanted) / static_cast<double>(count));
      rows.rewind();
      for (auto block = rows.next(rows_at_once); block.rows > 0; block = rows.next(rows_at_once)) {
        for (Index i = 0; i < block.rows; ++i) {
          const T w = block.weights ? block.weights[i] : T(1);
          total_weight += static_cast<double>(w);
          const auto at = static_cast<double>(block.first_row + i);
          if (std::floor((at + 1) * step) == std::floor(at * step) || w == 0) continue;
          cells.insert(cells.end(), block.X + i * block.x_stride, block.X + i * block.x_stride + block.dim_in);
          weights.push_back(w);
          weight += static_cast<double>(w);
        }
      }
      X = Eigen::Map<const Matrix<T>>(cells.data(), static_cast<Index>(weights.size()), rows.dim_in());
    }

    // sqrt(w) phi of some rows
    void fill(const M& map, Index first, Index count, float* out) const {
      const Index m = map.n_features();
      thread_local std::vector<T> prepared, features;
      prepared.resize(static_cast<std::size_t>(map.prepared_size(count)));
      T* phi = nullptr;
      if constexpr (std::same_as<T, float>) {
        phi = out;
      } else {
        features.resize(static_cast<std::size_t>(count * m));
        phi = features.data();
      }
      map.tile(map.prepare(X.row(first).data(), X.cols(), count, prepared.data()), 0, map.units(), phi, map.units(), m);
      for (Index i = 0; i < count; ++i) {
        const T root = std::sqrt(weights[static_cast<std::size_t>(first + i)]);
        if (std::same_as<T, float> && root == 1) continue;
        for (Index j = 0; j < m; ++j) out[i * m + j] = static_cast<float>(root * phi[i * m + j]);
      }
    }

    Vector<double> feature_sums(const M& map, const Execution& execution) const {
      const Matrix<T> w = Eigen::Map<const Matrix<T>>(weights.data(), X.rows(), 1);
      Matrix<double> sums = Matrix<double>::Zero(map.n_features(), 1);
      adjoint(map, X, w, sums, execution);
      return sums.col(0);
    }
  };

  // The Gram matrix becomes M, both triangles.
  void assemble(Matrix<float>& H, const Vector<double>& sums, const Sample& sample, double delta, double alpha) const {
    const double scale = delta * sample.total_weight / sample.weight;
    for (Index i = 0; i < order_; ++i) {
      const double mean = sums[i] / sample.weight;
      for (Index j = 0; j <= i; ++j) {
        H(i, j) = static_cast<float>(scale * (static_cast<double>(H(i, j)) - mean * sums[j]));
      }
      H(i, i) += static_cast<float>(alpha);
    }
    H.template triangularView<Eigen::StrictlyUpper>() = H.transpose();
  }

  void factor(Matrix<float> H, double alpha, const Execution& execution) {
    BlasThreads blas(execution.thread_count());
    const double norm = std::sqrt(H.cwiseAbs2().template cast<double>().sum());
    const Vector<float> diagonal = H.diagonal();
    const bool narrow = std::same_as<T, float> && order_ >= large && alpha >= 0x1p-18 * norm;
    if (narrow && backend::cholesky(order_, H.data(), order_)) {
      single_ = std::move(H);
      return;
    }
    double_ = H.transpose().template cast<double>();  // its lower triangle is H's upper one, which is still M's
    double_.diagonal() = diagonal.template cast<double>();
    if (!backend::cholesky(order_, double_.data(), order_)) double_.resize(0, 0);
  }

  Index order_;
  Matrix<float> single_;  // one of the two
  Matrix<double> double_;
};

}  // namespace carmina
