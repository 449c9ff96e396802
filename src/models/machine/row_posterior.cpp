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
    Matrix<double> out = covariance_less_intercept(X, 1, execution);
    out.rowwise() += Eigen::Map<const Eigen::RowVectorXd>(outside_.data(), p_ * p_);
    return out;
  }

  std::vector<Matrix<double>> part_variances(ConstView<T> X, const Execution& execution) const override {
    return {posterior::diagonals(covariance_less_intercept(X, 0, execution), p_)};
  }

  // f = sum_j v_j g_j with independent g_j, each of kernel delta k.
  Matrix<double> derived_variances(const DerivedPlan& plan, const Vector<double>& scale, ConstView<T> X,
                                   const Execution& execution) const override {
    const Index d = map_.dim_in();
    const std::vector<Matrix<double>> bases = derived_features<T>(map_, Kernel(map_.kernel()), plan, X, execution);
    const Matrix<double> mixed = mixed_seconds<T>(map_, X);  // (rows, d d)
    Matrix<double> out = Matrix<double>::Zero(X.rows(), plan.size());
    for (Index j = 0; j < outputs_.rank(p_); ++j) {
      const auto k = directions_.which[static_cast<std::size_t>(j)];
      const double delta = directions_.deltas[k];
      const Vector<double> v = posterior::direction(outputs_, j, p_).cwiseProduct(scale);
      for (Index q = 0; q < plan.size(); ++q) {
        Matrix<double> kt = Matrix<double>::Zero(X.rows(), map_.units());
        Vector<double> own = Vector<double>::Zero(X.rows());
        const auto& parts = plan.quantities[static_cast<std::size_t>(q)];
        for (const auto& one : parts) {
          kt += one.factor * v[one.output] * bases[static_cast<std::size_t>(one.basis)];
          for (const auto& other : parts) {
            own += one.factor * other.factor * v[one.output] * v[other.output] * mixed.col(one.basis * d + other.basis);
          }
        }
        const Matrix<double> Z = posterior::solved(factors_[k], delta * kt.transpose(), execution);
        out.col(q) += delta * own - posterior::squares_of_columns(Z);
        if (intercept_) out.col(q) += gap(k, Z, 0).cwiseAbs2() / ones_[k].squaredNorm();
      }
    }
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
        const Vector<double> rest = gap(i, Z, 1) / ones_[i].norm();
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
  // `own`: what the intercept adds to what is asked for, 1 to f and 0 to a part of it.
  Vector<double> gap(std::size_t i, const Matrix<double>& Z, double own) const {
    return own - posterior::products_with_columns(ones_[i].col(0), Z).array();
  }
  Matrix<double> covariance_less_intercept(ConstView<T> X, double own_intercept, const Execution& execution) const {
    const Matrix<double> kt = against_anchors(X, execution);
    const Vector<double> own = kernel_diagonal<T>(map_.kernel(), X, map_.transform());  // k(x, x)
    Matrix<double> by_delta(X.rows(), static_cast<Index>(factors_.size()));
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      const double delta = directions_.deltas[i];
      const Matrix<double> Z = posterior::solved(factors_[i], delta * kt, execution);
      Vector<double> variance = delta * own - posterior::squares_of_columns(Z);
      if (intercept_) variance += gap(i, Z, own_intercept).cwiseAbs2() / ones_[i].squaredNorm();
      by_delta.col(static_cast<Index>(i)) = variance.cwiseMax(0);
    }
    Matrix<double> variances(X.rows(), outputs_.rank(p_));
    for (Index j = 0; j < variances.cols(); ++j) {
      variances.col(j) = by_delta.col(static_cast<Index>(directions_.which[static_cast<std::size_t>(j)]));
    }
    return posterior::from_directions(outputs_, variances, p_);
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
      Matrix<double> own = joint(map_, 1, X.middleRows(i, 1), execution);
      own.diagonal() = own.diagonal().cwiseMax(0);
      Eigen::Map<Matrix<double>>(out.row(i).data(), p_, p_) = own;
    }
    return out;
  }

  // k of one term in the place of the whole kernel's, the same M.
  std::vector<Matrix<double>> part_variances(ConstView<T> X, const Execution& execution) const override {
    std::vector<Matrix<double>> out;
    for (const Term& term : map_.kernel().terms()) {
      const OperatorMap<T> own(Kernel(term), map_.anchors(), p_, map_.transform());
      Matrix<double> variances(X.rows(), p_);
      for (Index i = 0; i < X.rows(); ++i) {
        variances.row(i) = joint(own, 0, X.middleRows(i, 1), execution).diagonal().transpose().cwiseMax(0);
      }
      out.push_back(std::move(variances));
    }
    return out;
  }

  Matrix<double> derived_variances(const DerivedPlan& plan, const Vector<double>& scale, ConstView<T> X,
                                   const Execution& execution) const override {
    const Index q = plan.size();
    // What stands at output b of a row is that of f_b times its scale: the plan's factors take the scales.
    DerivedPlan scaled = plan;
    for (auto& parts : scaled.quantities) {
      for (auto& part : parts) part.factor *= scale[part.output];
    }
    const double common = plan.basis == DerivedPlan::Basis::gradient ? 1 : scale[0];
    const Matrix<double> blocks = common * derived_blocks<T>(map_, scaled, X, execution);  // (rows q, n p)
    const Matrix<double> own = common * common * derived_own<T>(map_, plan, scale, X);
    const Matrix<double> Z = posterior::solved(L_, blocks.transpose(), execution);
    Matrix<double> out(X.rows(), q);
    const Matrix<double> gap = S_.transpose() * Z;  // (p, rows q)
    for (Index i = 0; i < X.rows() * q; ++i) {
      out(i / q, i % q) = own(i / q, i % q) - Z.col(i).squaredNorm();
      if (intercept_) out(i / q, i % q) += gap.col(i).dot(mass_ * gap.col(i));
    }
    return out;
  }

  std::vector<Matrix<double>> draws(ConstView<T> X, const std::vector<Random>& streams,
                                    const Execution& execution) const override {
    const Index t = X.rows();
    std::vector<Matrix<double>> out(streams.size(), Matrix<double>::Zero(t, p_));
    if (t == 0) return out;
    const Matrix<double> root = backend::covariance_root(joint(map_, 1, X, execution), execution);
    for (std::size_t s = 0; s < out.size(); ++s) {
      const Vector<double> values = root * posterior::normals(streams[s], t * p_, 0);
      out[s] = Eigen::Map<const Matrix<double>>(values.data(), t, p_);
    }
    return out;
  }

 private:
  // cov of f, or of the part of it that has the kernel of `map`, at all rows, (rows p, rows p): row i p + a is output a
  // at x_i. `own_intercept`: 1 for f, 0 for a part.
  Matrix<double> joint(const OperatorMap<T>& map, double own_intercept, ConstView<T> X,
                       const Execution& execution) const {
    const Index n = map.n_features(), t = X.rows();
    const Matrix<T> rows = X;
    std::vector<double> blocks(static_cast<std::size_t>(t * n * p_ * p_));
    map.blocks(rows, blocks.data(), execution);
    Matrix<double> kt(n * p_, t * p_);  // row (j, b), column (i, a): K(x_i, z_j)_ab
    for (Index i = 0; i < t; ++i) {
      for (Index j = 0; j < n; ++j) {
        const double* block = &blocks[static_cast<std::size_t>((i * n + j) * p_ * p_)];
        for (Index a = 0; a < p_; ++a) {
          for (Index b = 0; b < p_; ++b) kt(j * p_ + b, i * p_ + a) = block[a * p_ + b];
        }
      }
    }
    Matrix<double> own = OperatorMap<T>(map.kernel(), rows, p_, map.transform()).gram(execution);
    mirror_lower(own, execution);
    const Matrix<double> Z = posterior::solved(L_, kt, execution);
    Matrix<double> cov = own - Z.transpose() * Z;
    if (intercept_) {
      Matrix<double> gap = -(S_.transpose() * Z);  // (p, rows p)
      for (Index i = 0; i < t * p_; ++i) gap(i % p_, i) += own_intercept;
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
