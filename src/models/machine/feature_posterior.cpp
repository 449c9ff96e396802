// models/machine/feature_posterior.cpp -- the posterior of machines whose sums over the rows are of features.
#include "backends/tiled.hpp"
#include "features/expansion.hpp"
#include "features/map_operations.hpp"
#include "features/moments.hpp"
#include "models/fit/sketched_rows.hpp"
#include "models/machine/posterior_factors.hpp"
#include "models/machine/posterior_system.hpp"

#include <carmina/core/error.hpp>

#include <cmath>
#include <utility>

namespace carmina {
namespace {

// Features less their mean, and the intercept: cov f = alpha phiᵀ (..)^-1 phi + alpha / sum w of each output.
template <Real T, class Map>
class FeaturePosterior : public PosteriorSystem<T> {
 protected:
  Map map_;
  Kernel machine_kernel_;
  Index p_;
  double alpha_, intercept_variance_ = 0;
  posterior::FeatureGram gram_;

  FeaturePosterior(const KernelMachine<T>& machine, const Map& map)
      : map_(map),
        machine_kernel_(machine.kernel()),
        p_(machine.dim_out()),
        alpha_(machine.record().alpha),
        gram_(*machine.record().moments, machine.record().fit_intercept) {
    if (machine.record().fit_intercept) intercept_variance_ = alpha_ / machine.record().moments->total_weight();
  }

  Matrix<double> features(ConstView<T> X, const Execution& execution) const {
    Matrix<T> phi(X.rows(), map_.n_features());
    evaluate(map_, X, View<T>(phi), execution);
    return phi.template cast<double>();
  }
  Matrix<double> centred_features(ConstView<T> X, const Execution& execution) const {
    Matrix<double> wide = features(X, execution);
    if (gram_.mean.size() > 0) wide.rowwise() -= gram_.mean.transpose();
    return wide;
  }

  void add_intercept(Matrix<double>& covariance) const {
    for (Index a = 0; a < p_; ++a) covariance.col(a * p_ + a).array() += intercept_variance_;
  }

  // phi(x) Theta_s of each draw s, Theta (features, draws p), and its intercept, whose numbers are the vector `last`.
  std::vector<Matrix<double>> applied(ConstView<T> X, const Matrix<double>& Theta, const std::vector<Random>& streams,
                                      Index last, const Execution& execution) const {
    std::vector<Matrix<double>> out(streams.size(), Matrix<double>(X.rows(), p_));
    for (Index first = 0; first < X.rows(); first += posterior::rows_at_once) {
      execution.checkpoint({"sample", first, X.rows()});
      const Index count = std::min(posterior::rows_at_once, X.rows() - first);
      const Matrix<double> values = backend::product(
          backend::Transpose::no, centred_features(X.middleRows(first, count), execution), Theta, execution);
      for (std::size_t s = 0; s < out.size(); ++s) {
        out[s].middleRows(first, count) = values.middleCols(static_cast<Index>(s) * p_, p_);
      }
    }
    for (std::size_t s = 0; s < out.size() && intercept_variance_ > 0; ++s) {
      const Vector<double> z = posterior::normals(streams[s], p_, last);
      out[s].rowwise() += std::sqrt(intercept_variance_) * z.transpose();
    }
    return out;
  }
};

// A separable kernel: one factor for each different eigenvalue of A.
template <Real T, class Map>
class SeparableFeatures : public FeaturePosterior<T, Map> {
 public:
  SeparableFeatures(const KernelMachine<T>& machine, const Map& map, const Execution& execution)
      : FeaturePosterior<T, Map>(machine, map),
        outputs_(output_factor(*machine.kernel().separable(), this->p_)),
        directions_(outputs_, this->p_) {
    for (const double delta : directions_.deltas) {
      factors_.push_back(posterior::factor(this->gram_.gram, delta, this->alpha_, {}, execution));
    }
    this->gram_.gram.resize(0, 0);
  }

  Matrix<double> covariance(ConstView<T> X, const Execution& execution) const override {
    Matrix<double> out = covariance_at(this->centred_features(X, execution), execution);
    this->add_intercept(out);
    return out;
  }

  std::vector<Matrix<double>> part_variances(ConstView<T> X, const Execution& execution) const override {
    return {posterior::diagonals(covariance_at(this->features(X, execution), execution), this->p_)};
  }

  // In the eigenbasis of A the outputs are sums of independent functions g_j: f = sum_j v_j g_j.
  Matrix<double> derived_variances(const DerivedPlan& plan, const Vector<double>& scale, ConstView<T> X,
                                   const Execution& execution) const override {
    const std::vector<Matrix<double>> bases =
        derived_features<T>(this->map_, this->machine_kernel_, plan, X, execution);
    Matrix<double> out = Matrix<double>::Zero(X.rows(), plan.size());
    for (Index j = 0; j < outputs_.rank(this->p_); ++j) {
      const auto k = directions_.which[static_cast<std::size_t>(j)];
      const Vector<double> v = posterior::direction(outputs_, j, this->p_).cwiseProduct(scale);
      for (Index q = 0; q < plan.size(); ++q) {
        Matrix<double> phi = Matrix<double>::Zero(X.rows(), factors_[k].rows());
        for (const auto& part : plan.quantities[static_cast<std::size_t>(q)]) {
          if (v[part.output] == 0) continue;
          phi += part.factor * v[part.output] * bases[static_cast<std::size_t>(part.basis)];
        }
        if (phi.isZero(0)) continue;
        out.col(q) += this->alpha_ * directions_.deltas[k] *
                      posterior::squares_of_columns(posterior::solved(factors_[k], phi.transpose(), execution));
      }
    }
    return out;
  }

  // Coefficients of direction j: sqrt(alpha delta_j) L^-T z, of covariance alpha delta_j (L Lᵀ)^-1.
  std::vector<Matrix<double>> draws(ConstView<T> X, const std::vector<Random>& streams,
                                    const Execution& execution) const override {
    const Index m = factors_[0].rows(), p = this->p_, rank = outputs_.rank(p);
    const auto count = static_cast<Index>(streams.size());
    Matrix<double> Theta = Matrix<double>::Zero(m, count * p);
    for (Index j = 0; j < rank; ++j) {
      const auto k = directions_.which[static_cast<std::size_t>(j)];
      const Matrix<double>& L = factors_[k];
      Matrix<double> Z(m, count);
      for (Index s = 0; s < count; ++s) Z.col(s) = posterior::normals(streams[static_cast<std::size_t>(s)], m, j);
      backend::lower_transposed_solve(m, count, L.data(), L.outerStride(), Z.data(), Z.outerStride(), execution);
      Z *= std::sqrt(this->alpha_ * directions_.deltas[k]);
      const Vector<double> v = posterior::direction(outputs_, j, p);
      for (Index s = 0; s < count; ++s) Theta.middleCols(s * p, p).noalias() += Z.col(s) * v.transpose();
    }
    return this->applied(X, Theta, streams, rank, execution);
  }

 private:
  // Of f = Thetaᵀ phi for rows phi, (rows, p p).
  Matrix<double> covariance_at(const Matrix<double>& phi, const Execution& execution) const {
    Matrix<double> quadratic(phi.rows(), static_cast<Index>(factors_.size()));
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      quadratic.col(static_cast<Index>(k)) =
          posterior::squares_of_columns(posterior::solved(factors_[k], phi.transpose(), execution));
    }
    Matrix<double> variances(phi.rows(), outputs_.rank(this->p_));
    for (Index j = 0; j < variances.cols(); ++j) {
      const auto k = directions_.which[static_cast<std::size_t>(j)];
      variances.col(j) = this->alpha_ * directions_.deltas[k] * quadratic.col(static_cast<Index>(k));
    }
    return posterior::from_directions(outputs_, variances, this->p_);
  }

  OutputFactor outputs_;
  posterior::Directions directions_;
  std::vector<Matrix<double>> factors_;
};

// Factors of outputs for each frequency: one system of all coefficients.
template <Real T, class Map>
class ExpandedFeatures : public FeaturePosterior<T, Map> {
 public:
  ExpandedFeatures(const KernelMachine<T>& machine, const Map& map, const Matrix<double>& frequencies,
                   const Execution& execution)
      : FeaturePosterior<T, Map>(machine, map),
        counts_(term_units_of(machine.kernel().terms(), frequencies.cols(), frequencies.rows())),
        expansion_(machine.kernel(), frequencies, this->p_) {
    L_ = posterior::factor(expansion_.gram(this->gram_.gram, execution.thread_count()), 1, this->alpha_, {}, execution);
    this->gram_.gram.resize(0, 0);
  }

  Matrix<double> covariance(ConstView<T> X, const Execution& execution) const override {
    Matrix<double> out = covariance_at(this->centred_features(X, execution), execution);
    this->add_intercept(out);
    return out;
  }

  // The features of a term are those of its frequencies: cosines, and as far on sines.
  std::vector<Matrix<double>> part_variances(ConstView<T> X, const Execution& execution) const override {
    const Matrix<double> phi = this->features(X, execution);
    const Index units = expansion_.units();
    std::vector<Matrix<double>> out;
    Index begin = 0;
    for (const Index count : counts_) {
      Matrix<double> own = Matrix<double>::Zero(phi.rows(), phi.cols());
      for (const Index first : {begin, units + begin}) {
        own.middleCols(first, count) = phi.middleCols(first, count);
      }
      begin += count;
      out.push_back(posterior::diagonals(covariance_at(own, execution), this->p_));
    }
    return out;
  }

  Matrix<double> derived_variances(const DerivedPlan& plan, const Vector<double>& scale, ConstView<T> X,
                                   const Execution& execution) const override {
    const std::vector<Matrix<double>> bases =
        derived_features<T>(this->map_, this->machine_kernel_, plan, X, execution);
    Matrix<double> out(X.rows(), plan.size());
    Matrix<double> columns(expansion_.dim_coef(), plan.size());
    for (Index i = 0; i < X.rows(); ++i) {
      for (Index q = 0; q < plan.size(); ++q) {
        Matrix<double> R = Matrix<double>::Zero(2 * expansion_.units(), this->p_);
        for (const auto& part : plan.quantities[static_cast<std::size_t>(q)]) {
          R.col(part.output) +=
              part.factor * scale[part.output] * bases[static_cast<std::size_t>(part.basis)].row(i).transpose();
        }
        columns.col(q) = expansion_.contract(R);
      }
      out.row(i) = this->alpha_ * posterior::squares_of_columns(posterior::solved(L_, columns, execution)).transpose();
    }
    return out;
  }

  std::vector<Matrix<double>> draws(ConstView<T> X, const std::vector<Random>& streams,
                                    const Execution& execution) const override {
    const Index m = L_.rows(), p = this->p_;
    const auto count = static_cast<Index>(streams.size());
    Matrix<double> Z(m, count);
    for (Index s = 0; s < count; ++s) Z.col(s) = posterior::normals(streams[static_cast<std::size_t>(s)], m, 0);
    backend::lower_transposed_solve(m, count, L_.data(), L_.outerStride(), Z.data(), Z.outerStride(), execution);
    Z *= std::sqrt(this->alpha_);
    Matrix<double> Theta(2 * expansion_.units(), count * p);
    for (Index s = 0; s < count; ++s) Theta.middleCols(s * p, p) = expansion_.expand(Z.col(s));
    return this->applied(X, Theta, streams, 1, execution);
  }

 private:
  Matrix<double> covariance_at(const Matrix<double>& phi, const Execution& execution) const {
    const Index p = this->p_;
    Matrix<double> out(phi.rows(), p * p), columns(expansion_.dim_coef(), p);
    for (Index i = 0; i < phi.rows(); ++i) {
      for (Index a = 0; a < p; ++a) {
        Matrix<double> R = Matrix<double>::Zero(phi.cols(), p);
        R.col(a) = phi.row(i).transpose();
        columns.col(a) = expansion_.contract(R);
      }
      const Matrix<double> Z = posterior::solved(L_, columns, execution);
      Eigen::Map<Matrix<double>>(out.row(i).data(), p, p) = this->alpha_ * (Z.transpose() * Z);
    }
    return out;
  }

  std::vector<Index> counts_;  // units of each term
  Expansion expansion_;
  Matrix<double> L_;
};

}  // namespace

template <Real T>
std::unique_ptr<PosteriorSystem<T>> feature_posterior(const KernelMachine<T>& machine, const FourierMap<T>& map,
                                                      const Execution& execution) {
  if (machine.kernel().separable()) {
    return std::make_unique<SeparableFeatures<T, FourierMap<T>>>(machine, map, execution);
  }
  return std::make_unique<ExpandedFeatures<T, FourierMap<T>>>(machine, map, map.unit_frequencies(), execution);
}

template <Real T>
std::unique_ptr<PosteriorSystem<T>> anchor_posterior(const KernelMachine<T>& machine, const KernelMap<T>& map,
                                                     const Execution& execution) {
  const auto features = anchor_features(map, execution);
  require(features.n_features() == machine.record().moments->features,
          "variance: {} features of the anchors, the sums over rows are of {}", features.n_features(),
          machine.record().moments->features);
  return std::make_unique<SeparableFeatures<T, std::decay_t<decltype(features)>>>(machine, features, execution);
}

#define CARMINA_INSTANTIATE(T)                                                                                  \
  template std::unique_ptr<PosteriorSystem<T>> feature_posterior(const KernelMachine<T>&, const FourierMap<T>&, \
                                                                 const Execution&);                             \
  template std::unique_ptr<PosteriorSystem<T>> anchor_posterior(const KernelMachine<T>&, const KernelMap<T>&,   \
                                                                const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
