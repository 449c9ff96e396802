// models/machine/posterior.cpp -- covariances from triangular solves with a factor of the normal or kernel system.
#include "backends/tiled.hpp"
#include "features/expansion.hpp"
#include "features/moments.hpp"
#include "models/fit/kernel_matrices.hpp"
#include "models/fit/sketched_rows.hpp"
#include "models/machine/machine_map.hpp"
#include "models/machine/pattern_machine.hpp"

#include <carmina/core/error.hpp>
#include <carmina/models/posterior.hpp>

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

constexpr Index rows_at_once = 256;

// L of delta H + alpha diag(noise), H by its lower triangle; noise empty: all one.
Matrix<double> factor(Matrix<double> H, double delta, double alpha, const Vector<double>& weights,
                      const Execution& execution) {
  H *= delta;
  for (Index i = 0; i < H.rows(); ++i) H(i, i) += weights.size() > 0 ? alpha / weights[i] : alpha;
  const Vector<double> least = 4 * std::numeric_limits<double>::epsilon() * H.diagonal();
  const bool regular = backend::cholesky(H.rows(), H.data(), H.outerStride(), execution) &&
                       (H.diagonal().array().square() > least.array()).all();
  require(regular, "variance: the system is singular to rounding; a larger alpha is needed");
  return H;
}

// L^-1 R for R (order, columns), in panels of one width that are filled up with zeros: a column has the same bits
// whatever stands beside it.
Matrix<double> solved(const Matrix<double>& L, const Matrix<double>& R, const Execution& execution) {
  constexpr Index together = 16;
  Matrix<double> Z(R.rows(), R.cols());
  parallel_for((R.cols() + together - 1) / together, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    const Index first = task * together, count = std::min(together, R.cols() - first);
    Matrix<double> panel = Matrix<double>::Zero(R.rows(), together);
    panel.leftCols(count) = R.middleCols(first, count);
    backend::lower_solve(L.rows(), together, L.data(), L.outerStride(), panel.data(), together);
    Z.middleCols(first, count) = panel.leftCols(count);
  });
  return Z;
}

// aᵀ Z and the squared lengths of columns, each summed from the first row to the last.
Vector<double> products_with_columns(const Vector<double>& a, const Matrix<double>& Z) {
  Vector<double> out = Vector<double>::Zero(Z.cols());
  for (Index i = 0; i < Z.rows(); ++i) {
    for (Index j = 0; j < Z.cols(); ++j) out[j] += a[i] * Z(i, j);
  }
  return out;
}
Vector<double> squares_of_columns(const Matrix<double>& Z) {
  Vector<double> out = Vector<double>::Zero(Z.cols());
  for (Index i = 0; i < Z.rows(); ++i) {
    for (Index j = 0; j < Z.cols(); ++j) out[j] += Z(i, j) * Z(i, j);
  }
  return out;
}

// One factor per different eigenvalue of A, and which one output direction j uses.
struct Directions {
  std::vector<double> deltas;
  std::vector<std::size_t> which;

  Directions(const OutputFactor& outputs, Index p) {
    for (Index j = 0; j < outputs.rank(p); ++j) {
      const double delta = outputs.eigenvalue(j);
      std::size_t k = 0;
      while (k < deltas.size() && std::abs(deltas[k] - delta) > 1e-14 * delta) ++k;
      if (k == deltas.size()) deltas.push_back(delta);
      which.push_back(k);
    }
  }
};

// PhiᵀW Phi of the scalar map's features, about their mean when there is an intercept; full lower triangle.
struct FeatureGram {
  Matrix<double> gram;
  Vector<double> mean;  // empty without intercept

  FeatureGram(const Moments& moments, bool intercept)
      : gram(moments.sums.topLeftCorner(moments.features, moments.features)) {
    if (!intercept) return;
    mean = moments.feature_sums().transpose() / moments.total_weight();
    for (Index i = 0; i < gram.rows(); ++i) {
      gram.row(i).head(i + 1) -= moments.total_weight() * mean[i] * mean.head(i + 1).transpose();
    }
  }
};

}  // namespace

// covariance of f at prepared rows, noise left out, for noise of variance alpha: (rows, p p)
template <Real T>
struct Posterior<T>::State {
  const KernelMachine<T> machine;
  const Index p;
  const double alpha, intercept_variance;  // the latter in units of alpha: 1 / sum w, or 0
  Vector<double> scale;                    // sqrt(noise / alpha) (p)
  std::function<Matrix<double>(ConstView<T>, const Execution&)> covariance;
  // In its place where targets are missing: outputs of different patterns are independent.
  std::vector<std::pair<std::vector<Index>, Posterior<T>>> parts;

  State(const KernelMachine<T>& fitted, const Execution& execution)
      : machine(fitted),
        p(machine.dim_out()),
        alpha(machine.record().alpha),
        intercept_variance(flat_variance(machine)) {
    const std::string reason = why_no_deviation(machine.record());
    require(reason.empty(), "variance: {}", reason);
    for (const PatternRecord& pattern : machine.record().patterns) {
      parts.emplace_back(pattern.columns, Posterior<T>(pattern_machine(machine, pattern), execution));
    }
    if (!parts.empty()) return;
    scale = (machine.record().noise / alpha).cwiseSqrt();
    std::visit([&](const auto& map) { build(map, execution); }, machine.map());
  }

  static double flat_variance(const KernelMachine<T>& fitted) {
    const FitRecord& record = fitted.record();
    return record.fit_intercept && record.moments ? 1 / record.moments->total_weight() : 0.0;
  }

  // In the eigenbasis V of A: sum_j variance_j v_j v_jᵀ for each row; variances (rows, rank).
  static Matrix<double> from_directions(const OutputFactor& outputs, const Matrix<double>& variances, Index p) {
    Matrix<double> out = Matrix<double>::Zero(variances.rows(), p * p);
    for (Index i = 0; i < variances.rows(); ++i) {
      Eigen::Map<Matrix<double>> block(out.row(i).data(), p, p);
      if (outputs.identity()) {
        block.diagonal() = variances.row(i).transpose();
      } else {
        block = outputs.vectors * variances.row(i).transpose().asDiagonal() * outputs.vectors.transpose();
      }
    }
    return out;
  }

  void build(const FourierMap<T>& map, const Execution& execution) {
    build_features(map, [&] { return map.unit_frequencies(); }, execution);
  }

  // From sums of features; `frequencies()` of the units where the kernel is not separable.
  template <class Map>
  void build_features(const Map& map, const auto& frequencies, const Execution& execution) {
    const FitRecord& record = machine.record();
    const FeatureGram gram(*record.moments, record.fit_intercept);
    const auto centred_features = [map, mean = gram.mean](ConstView<T> X, const Execution& run) {
      Matrix<T> phi(X.rows(), map.n_features());
      evaluate(map, X, View<T>(phi), run);
      Matrix<double> wide = phi.template cast<double>();
      if (mean.size() > 0) wide.rowwise() -= mean.transpose();
      return wide;
    };
    if (const Term* term = machine.kernel().separable()) {
      const OutputFactor outputs = output_factor(*term, p);
      const Directions directions(outputs, p);
      std::vector<Matrix<double>> factors;
      for (const double delta : directions.deltas) factors.push_back(factor(gram.gram, delta, alpha, {}, execution));
      covariance = [=, this](ConstView<T> X, const Execution& run) {
        const Matrix<double> phi = centred_features(X, run);
        Matrix<double> quadratic(X.rows(), static_cast<Index>(factors.size()));
        for (std::size_t k = 0; k < factors.size(); ++k) {
          quadratic.col(static_cast<Index>(k)) = squares_of_columns(solved(factors[k], phi.transpose(), run));
        }
        Matrix<double> variances(X.rows(), outputs.rank(p));
        for (Index j = 0; j < variances.cols(); ++j) {
          const auto k = directions.which[static_cast<std::size_t>(j)];
          variances.col(j) = alpha * directions.deltas[k] * quadratic.col(static_cast<Index>(k));
        }
        return from_directions(outputs, variances, p);
      };
      return;
    }
    auto expansion = std::make_shared<Expansion>(machine.kernel(), frequencies(), p);
    const Matrix<double> L = factor(expansion->gram(gram.gram, execution.thread_count()), 1, alpha, {}, execution);
    covariance = [=, this](ConstView<T> X, const Execution& run) {
      const Matrix<double> phi = centred_features(X, run);
      Matrix<double> out(X.rows(), p * p), columns(expansion->dim_coef(), p);
      for (Index i = 0; i < X.rows(); ++i) {
        for (Index a = 0; a < p; ++a) {
          Matrix<double> R = Matrix<double>::Zero(phi.cols(), p);
          R.col(a) = phi.row(i).transpose();
          columns.col(a) = expansion->contract(R);
        }
        const Matrix<double> Z = solved(L, columns, run);
        Eigen::Map<Matrix<double>>(out.row(i).data(), p, p) = alpha * (Z.transpose() * Z);
      }
      return out;
    };
  }

  void build(const KernelMap<T>& map, const Execution& execution) {
    const FitRecord& record = machine.record();
    if (record.moments) {  // of a sub-sample
      const auto features = anchor_features(map, execution);
      require(features.n_features() == record.moments->features,
              "variance: {} features of the anchors, the sums over rows are of {}", features.n_features(),
              record.moments->features);
      build_features(features, [] { return Matrix<double>(); }, execution);
      return;
    }
    const Term* term = machine.kernel().separable();
    const OutputFactor outputs = output_factor(*term, p);
    const Directions directions(outputs, p);
    const Index n = map.n_features();
    const Matrix<double> K = exact_gram(map.kernel(), map.anchors(), map.transform(), execution);
    std::vector<Matrix<double>> factors, ones;
    for (const double delta : directions.deltas) {
      factors.push_back(factor(K, delta, alpha, record.weights, execution));
      ones.push_back(solved(factors.back(), Matrix<double>::Ones(n, 1), execution));  // L^-1 1
    }
    // Where A is zero only the intercept varies: alpha / sum w.
    Eigen::RowVectorXd rest = Eigen::RowVectorXd::Zero(p * p);
    if (record.fit_intercept && !outputs.identity()) {
      const double weight = record.weights.size() > 0 ? record.weights.sum() : static_cast<double>(n);
      const Matrix<double> outside = Matrix<double>::Identity(p, p) - outputs.vectors * outputs.vectors.transpose();
      rest = alpha / weight * Eigen::Map<const Eigen::RowVectorXd>(outside.data(), p * p);
    }
    covariance = [=, this, intercept = record.fit_intercept](ConstView<T> X, const Execution& run) {
      Matrix<T> k(X.rows(), n);
      evaluate(map, X, View<T>(k), run);
      const Matrix<double> kt = k.template cast<double>().transpose();
      const Vector<double> own = kernel_diagonal<T>(map.kernel(), X, map.transform());  // k(x, x)
      Matrix<double> by_delta(X.rows(), static_cast<Index>(factors.size()));
      for (std::size_t i = 0; i < factors.size(); ++i) {
        const double delta = directions.deltas[i];
        const Matrix<double> Z = solved(factors[i], delta * kt, run);
        Vector<double> variance = delta * own - squares_of_columns(Z);
        if (intercept) {
          const Vector<double> gap = 1 - products_with_columns(ones[i].col(0), Z).array();
          variance += gap.cwiseAbs2() / ones[i].squaredNorm();
        }
        by_delta.col(static_cast<Index>(i)) = variance.cwiseMax(0);
      }
      Matrix<double> variances(X.rows(), outputs.rank(p));
      for (Index j = 0; j < variances.cols(); ++j) {
        variances.col(j) = by_delta.col(static_cast<Index>(directions.which[static_cast<std::size_t>(j)]));
      }
      Matrix<double> out = from_directions(outputs, variances, p);
      out.rowwise() += rest;
      return out;
    };
  }

  void build(const OperatorMap<T>& map, const Execution& execution) {
    const FitRecord& record = machine.record();
    const Index n = map.n_features();
    Vector<double> weights;
    if (record.weights.size() > 0) {
      weights = Vector<double>::NullaryExpr(n * p, [&](Index i) { return record.weights[i / p]; });
    }
    const Matrix<double> L = factor(map.gram(execution), 1, alpha, weights, execution);
    Matrix<double> columns = Matrix<double>::Zero(n * p, p);
    for (Index i = 0; i < n * p; ++i) columns(i, i % p) = 1;
    const Matrix<double> S = solved(L, columns, execution);  // L^-1 E
    const Eigen::MatrixXd mass = (S.transpose() * S).inverse();
    covariance = [=, this, intercept = record.fit_intercept](ConstView<T> X, const Execution& run) {
      Matrix<double> out(X.rows(), p * p);
      for (Index i = 0; i < X.rows(); ++i) {
        const Matrix<T> x = X.row(i);
        std::vector<double> blocks(static_cast<std::size_t>(n * p * p)), own(static_cast<std::size_t>(p * p));
        map.blocks(x, blocks.data(), run);
        OperatorMap<T>(map.kernel(), x, p, map.transform()).blocks(x, own.data(), run);
        Matrix<double> kt(n * p, p);  // row (j, b), column a: K(x, z_j)_ab
        for (Index j = 0; j < n; ++j) {
          for (Index a = 0; a < p; ++a) {
            for (Index b = 0; b < p; ++b) kt(j * p + b, a) = blocks[static_cast<std::size_t>((j * p + a) * p + b)];
          }
        }
        const Matrix<double> Z = solved(L, kt, run);
        Matrix<double> cov = Eigen::Map<const Matrix<double>>(own.data(), p, p) - Z.transpose() * Z;
        if (intercept) {
          const Matrix<double> gap = Matrix<double>::Identity(p, p) - S.transpose() * Z;
          cov += gap.transpose() * mass * gap;
        }
        cov.diagonal() = cov.diagonal().cwiseMax(0);
        Eigen::Map<Matrix<double>>(out.row(i).data(), p, p) = cov;
      }
      return out;
    };
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
  for (Index first = 0; first < X.rows(); first += rows_at_once) {
    execution.checkpoint({"variance", first, X.rows()});
    const Index count = std::min(rows_at_once, X.rows() - first);
    Matrix<double> block = state_->covariance(X.middleRows(first, count), execution);
    for (Index a = 0; a < p; ++a) {
      block.col(a * p + a).array() += state_->alpha * (1 + state_->intercept_variance);
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

template class Posterior<float>;
template class Posterior<double>;

}  // namespace carmina
