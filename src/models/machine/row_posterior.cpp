// models/machine/row_posterior.cpp -- the posterior of exact machines: processes given the rows that they keep.
#include "backends/covariance_root.hpp"
#include "models/fit/kernel_matrices.hpp"
#include "models/machine/posterior_factors.hpp"
#include "models/machine/posterior_system.hpp"

#include <Eigen/LU>

#include <cmath>

namespace carmina {
namespace {

// A scalar kernel k A: with M = delta K + alpha W^-1 of each eigenvalue delta of A,
//   cov f(x) = delta k(x, x) - z zᵀ + gap gapᵀ / |L^-1 1|^2,  z = delta k L^-T,  gap = 1 - z L^-1 1.
template <Real T>
class ScalarRows : public PosteriorSystem<T> {
 public:
  ScalarRows(const KernelMachine<T>& machine, const KernelMap<T>& map, const Execution& execution)
      : map_(map),
        p_(machine.dim_out()),
        intercept_(machine.record().fit_intercept),
        outputs_(output_factor(*machine.kernel().separable(), p_)),
        directions_(outputs_, p_) {
    const FitRecord& record = machine.record();
    const Index n = map.n_features();
    const Matrix<double> K = exact_gram(map.kernel(), map.anchors(), map.transform(), execution);
    for (const double delta : directions_.deltas) {
      factors_.push_back(posterior::factor(K, delta, record.alpha, record.weights, execution));
      ones_.push_back(posterior::solved(factors_.back(), Matrix<double>::Ones(n, 1), execution));  // L^-1 1
    }
    // Where A is zero only the intercept varies: alpha / sum w.
    outside_ = Matrix<double>::Zero(p_, p_);
    if (intercept_ && !outputs_.identity()) {
      const double weight = record.weights.size() > 0 ? record.weights.sum() : static_cast<double>(n);
      outside_ =
          record.alpha / weight * (Matrix<double>::Identity(p_, p_) - outputs_.vectors * outputs_.vectors.transpose());
    }
  }

  Matrix<double> covariance(ConstView<T> X, const Execution& execution) const override {
    const Matrix<double> kt = against_anchors(X, execution);
    const Vector<double> own = kernel_diagonal<T>(map_.kernel(), X, map_.transform());  // k(x, x)
    Matrix<double> by_delta(X.rows(), static_cast<Index>(factors_.size()));
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      const double delta = directions_.deltas[i];
      const Matrix<double> Z = posterior::solved(factors_[i], delta * kt, execution);
      Vector<double> variance = delta * own - posterior::squares_of_columns(Z);
      if (intercept_) variance += gap(i, Z).cwiseAbs2() / ones_[i].squaredNorm();
      by_delta.col(static_cast<Index>(i)) = variance.cwiseMax(0);
    }
    Matrix<double> variances(X.rows(), outputs_.rank(p_));
    for (Index j = 0; j < variances.cols(); ++j) {
      variances.col(j) = by_delta.col(static_cast<Index>(directions_.which[static_cast<std::size_t>(j)]));
    }
    Matrix<double> out = posterior::from_directions(outputs_, variances, p_);
    out.rowwise() += Eigen::Map<const Eigen::RowVectorXd>(outside_.data(), p_ * p_);
    return out;
  }

  std::vector<Matrix<double>> draws(ConstView<T> X, const std::vector<Random>& streams,
                                    const Execution& execution) const override {
    const Index t = X.rows(), rank = outputs_.rank(p_);
    std::vector<Matrix<double>> out(streams.size(), Matrix<double>::Zero(t, p_));
    if (t == 0) return out;
    const Matrix<double> kt = against_anchors(X, execution);
    const Matrix<double> own = exact_gram(map_.kernel(), Matrix<T>(X), map_.transform(), execution);
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      const double delta = directions_.deltas[i];
      const Matrix<double> Z = posterior::solved(factors_[i], delta * kt, execution);
      Matrix<double> C = delta * own - backend::product(backend::Transpose::yes, Z, Z, execution);
      if (intercept_) {
        const Vector<double> rest = gap(i, Z) / ones_[i].norm();
        C.noalias() += rest * rest.transpose();
      }
      const Matrix<double> root = backend::covariance_root(std::move(C), execution);
      for (Index j = 0; j < rank; ++j) {
        if (directions_.which[static_cast<std::size_t>(j)] != i) continue;
        const Vector<double> v = posterior::direction(outputs_, j, p_);
        for (std::size_t s = 0; s < out.size(); ++s) {
          out[s].noalias() += root * posterior::normals(streams[s], t, j) * v.transpose();
        }
      }
    }
    if (!outside_.isZero(0)) {
      const Matrix<double> root = backend::covariance_root(outside_, execution);
      for (std::size_t s = 0; s < out.size(); ++s) {
        out[s].rowwise() += (root * posterior::normals(streams[s], p_, rank)).transpose();
      }
    }
    return out;
  }

 private:
  // k(z, x) of the anchors z, (anchors, rows).
  Matrix<double> against_anchors(ConstView<T> X, const Execution& execution) const {
    Matrix<T> k(X.rows(), map_.n_features());
    evaluate(map_, X, View<T>(k), execution);
    return k.template cast<double>().transpose();
  }
  Vector<double> gap(std::size_t i, const Matrix<double>& Z) const {
    return 1 - posterior::products_with_columns(ones_[i].col(0), Z).array();
  }

  KernelMap<T> map_;
  Index p_;
  bool intercept_;
  OutputFactor outputs_;
  posterior::Directions directions_;
  std::vector<Matrix<double>> factors_, ones_;
  Matrix<double> outside_;  // (p, p), covariance of the intercept's part that no direction holds
};

// An operator-valued kernel: one system of all rows and outputs. E: the intercept's columns.
template <Real T>
class OperatorRows : public PosteriorSystem<T> {
 public:
  OperatorRows(const KernelMachine<T>& machine, const OperatorMap<T>& map, const Execution& execution)
      : map_(map), p_(machine.dim_out()), intercept_(machine.record().fit_intercept) {
    const FitRecord& record = machine.record();
    const Index n = map.n_features();
    Vector<double> weights;
    if (record.weights.size() > 0) {
      weights = Vector<double>::NullaryExpr(n * p_, [&](Index i) { return record.weights[i / p_]; });
    }
    L_ = posterior::factor(map.gram(execution), 1, record.alpha, weights, execution);
    Matrix<double> columns = Matrix<double>::Zero(n * p_, p_);
    for (Index i = 0; i < n * p_; ++i) columns(i, i % p_) = 1;
    S_ = posterior::solved(L_, columns, execution);  // L^-1 E
    mass_ = Eigen::MatrixXd(S_.transpose() * S_).inverse();
  }

  Matrix<double> covariance(ConstView<T> X, const Execution& execution) const override {
    Matrix<double> out(X.rows(), p_ * p_);
    for (Index i = 0; i < X.rows(); ++i) {
      Eigen::Map<Matrix<double>>(out.row(i).data(), p_, p_) = joint(X.middleRows(i, 1), execution);
    }
    return out;
  }

  std::vector<Matrix<double>> draws(ConstView<T> X, const std::vector<Random>& streams,
                                    const Execution& execution) const override {
    const Index t = X.rows();
    std::vector<Matrix<double>> out(streams.size(), Matrix<double>::Zero(t, p_));
    if (t == 0) return out;
    const Matrix<double> root = backend::covariance_root(joint(X, execution), execution);
    for (std::size_t s = 0; s < out.size(); ++s) {
      const Vector<double> values = root * posterior::normals(streams[s], t * p_, 0);
      out[s] = Eigen::Map<const Matrix<double>>(values.data(), t, p_);
    }
    return out;
  }

 private:
  // cov of f at all rows, (rows p, rows p): row i p + a is output a at x_i.
  Matrix<double> joint(ConstView<T> X, const Execution& execution) const {
    const Index n = map_.n_features(), t = X.rows();
    const Matrix<T> rows = X;
    std::vector<double> blocks(static_cast<std::size_t>(t * n * p_ * p_));
    map_.blocks(rows, blocks.data(), execution);
    Matrix<double> kt(n * p_, t * p_);  // row (j, b), column (i, a): K(x_i, z_j)_ab
    for (Index i = 0; i < t; ++i) {
      for (Index j = 0; j < n; ++j) {
        const double* block = &blocks[static_cast<std::size_t>((i * n + j) * p_ * p_)];
        for (Index a = 0; a < p_; ++a) {
          for (Index b = 0; b < p_; ++b) kt(j * p_ + b, i * p_ + a) = block[a * p_ + b];
        }
      }
    }
    Matrix<double> own = OperatorMap<T>(map_.kernel(), rows, p_, map_.transform()).gram(execution);
    mirror_lower(own, execution);
    const Matrix<double> Z = posterior::solved(L_, kt, execution);
    Matrix<double> cov = own - Z.transpose() * Z;
    if (intercept_) {
      Matrix<double> gap = -(S_.transpose() * Z);  // (p, rows p)
      for (Index i = 0; i < t * p_; ++i) gap(i % p_, i) += 1;
      cov += gap.transpose() * mass_ * gap;
    }
    return cov;
  }

  OperatorMap<T> map_;
  Index p_;
  bool intercept_;
  Matrix<double> L_, S_, mass_;
};

}  // namespace

template <Real T>
std::unique_ptr<PosteriorSystem<T>> row_posterior(const KernelMachine<T>& machine, const KernelMap<T>& map,
                                                  const Execution& execution) {
  return std::make_unique<ScalarRows<T>>(machine, map, execution);
}
template <Real T>
std::unique_ptr<PosteriorSystem<T>> row_posterior(const KernelMachine<T>& machine, const OperatorMap<T>& map,
                                                  const Execution& execution) {
  return std::make_unique<OperatorRows<T>>(machine, map, execution);
}

#define CARMINA_INSTANTIATE(T)                                                                               \
  template std::unique_ptr<PosteriorSystem<T>> row_posterior(const KernelMachine<T>&, const KernelMap<T>&,   \
                                                             const Execution&);                              \
  template std::unique_ptr<PosteriorSystem<T>> row_posterior(const KernelMachine<T>&, const OperatorMap<T>&, \
                                                             const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
