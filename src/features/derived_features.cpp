// features/derived_features.cpp -- derivatives of waves and of kernel values, with those of the input transform.
#include "features/derived_features.hpp"
#include "features/input_slopes.hpp"
#include "features/kernel_jet.hpp"
#include "features/map_operations.hpp"

#include <carmina/core/error.hpp>

#include <cmath>

namespace carmina {
namespace {

// The map in double, and its features of X.
struct Waves {
  FourierMap<double> map;
  Matrix<double> X, phi;
};

Matrix<double> features_of(const FourierMap<double>& map, const Matrix<double>& X, const Execution& execution) {
  Matrix<double> phi(X.rows(), map.n_features());
  evaluate(map, X, View<double>(phi), execution);
  return phi;
}

template <Real T>
Waves waves_of(const FourierMap<T>& map, ConstView<T> X, const Execution& execution) {
  require(map.phases().size() == 0, "derivatives: sampling 'phases' has no sine beside its cosine; fit with 'iid'");
  Waves waves{{map.frequencies().template cast<double>(), map.transform(), map.amplitudes(),
               Matrix<double>(map.place().template cast<double>())},
              X.template cast<double>(),
              {}};
  waves.phi = features_of(waves.map, waves.X, execution);
  return waves;
}

// d/du_l of the amplitudes beside their waves: each linear factor that is of input l is left out once.
void add_amplitudes(const Waves& waves, Index l, Matrix<double>& out, const Execution& execution) {
  const Amplitudes& all = waves.map.amplitudes();
  for (Index k = 0; k < all.columns.cols(); ++k) {
    Amplitudes without = all;
    bool any = false;
    for (Index j = 0; j < all.factors.size(); ++j) {
      const bool own = all.columns(j, k) == l;
      without.columns(j, k) = -1;
      if (!own) without.factors[j] = 0;
      any = any || own;
    }
    if (!any) continue;
    const FourierMap<double> map(waves.map.frequencies(), waves.map.transform(), without);
    out += features_of(map, waves.X, execution);
  }
}

// Units of the terms with the coupling.
template <class Coupling>
std::vector<bool> units_with(const Kernel& kernel, Index d, Index units) {
  std::vector<bool> out;
  const std::vector<Index> counts = term_units_of(kernel.terms(), d, units);
  for (std::size_t t = 0; t < counts.size(); ++t) {
    out.insert(out.end(), static_cast<std::size_t>(counts[t]),
               std::holds_alternative<Coupling>(kernel.terms()[t].coupling));
  }
  return out;
}

// f = sum_j cos_j c_j + sin_j s_j with c_j, s_j in the span of B_j. Curl-free, c_j = w_j theta: the potential has
// sin_j <w_j, c_j> / |w_j|^2 - cos_j <w_j, s_j> / |w_j|^2. Two outputs without divergence: w_j turned, (w_2, -w_1).
// Three: c_j x w_j, which the plan makes of products with each entry of w_j.
std::vector<Matrix<double>> antiderivatives(const Waves& waves, const Kernel& kernel, const DerivedPlan& plan) {
  const Index units = waves.map.units(), d = waves.map.dim_in();
  const bool potential = plan.basis == DerivedPlan::Basis::potential, stream = plan.basis == DerivedPlan::Basis::stream;
  const std::vector<bool> own =
      potential ? units_with<CurlFreeCoupling>(kernel, d, units) : units_with<DivergenceFreeCoupling>(kernel, d, units);
  const double unit = common_factor(waves.map.transform(), plan.columns);
  const Matrix<double> W = waves.map.unit_frequencies()(Eigen::all, plan.columns);
  std::vector<Matrix<double>> bases;
  for (Index a = 0; a < plan.bases; ++a) {
    Vector<double> ratio = Vector<double>::Zero(units);
    for (Index j = 0; j < units; ++j) {
      const double square = W.row(j).squaredNorm();
      if (!own[static_cast<std::size_t>(j)] || square == 0) continue;
      ratio[j] = (!stream ? W(j, a) : a == 0 ? W(j, 1) : -W(j, 0)) / square / unit;
    }
    Matrix<double> one(waves.phi.rows(), 2 * units);
    one << waves.phi.rightCols(units) * ratio.asDiagonal(), -waves.phi.leftCols(units) * ratio.asDiagonal();
    bases.push_back(std::move(one));
  }
  return bases;
}

}  // namespace

template <Real T>
std::vector<Matrix<double>> derived_features(const FourierMap<T>& map, const Kernel& kernel, const DerivedPlan& plan,
                                             ConstView<T> X, const Execution& execution) {
  const Waves waves = waves_of(map, X, execution);
  if (plan.basis != DerivedPlan::Basis::gradient) return antiderivatives(waves, kernel, plan);
  const Index units = map.units();
  const InputTransform& transform = map.transform();
  Matrix<double> W = waves.map.frequencies();
  require(transform.metric.size() == 0 || waves.map.amplitudes().empty(),
          "derivatives: a learnt metric does not go with a kernel that has 'linear' in it");
  if (transform.metric.size() > 0) W = W * transform.metric;
  const Matrix<double> slopes = input_slopes(transform, waves.X);
  std::vector<Matrix<double>> bases;
  for (Index l = 0; l < plan.bases; ++l) {
    Matrix<double> one(X.rows(), 2 * units);
    one << -waves.phi.rightCols(units) * W.col(l).asDiagonal(), waves.phi.leftCols(units) * W.col(l).asDiagonal();
    add_amplitudes(waves, l, one, execution);
    if (slopes.size() > 0) one = slopes.col(l).asDiagonal() * one;
    bases.push_back(std::move(one));
  }
  return bases;
}

template <Real T>
std::vector<Matrix<double>> derived_features(const KernelMap<T>& map, const Kernel&, const DerivedPlan& plan,
                                             ConstView<T> X, const Execution& execution) {
  const Index d = map.dim_in(), n = X.rows(), s = map.units();
  const InputTransform& transform = map.transform();
  const Matrix<double> Xd = X.template cast<double>(), U = placed_rows(transform, Xd),
                       Z = placed_rows(transform, Matrix<double>(map.anchors().template cast<double>()));
  std::vector<Matrix<double>> by_place(static_cast<std::size_t>(d), Matrix<double>(n, s));
  parallel_for(n, execution.thread_count(), [&](Index i, int) {
    KernelJet jet;
    for (Index j = 0; j < s; ++j) {
      fill_jet(map.kernel(), U.row(i).data(), Z.row(j).data(), d, 1, jet);
      for (Index l = 0; l < d; ++l) by_place[static_cast<std::size_t>(l)](i, j) = jet.at(l);
    }
  });
  const Matrix<double> slopes = input_slopes(transform, Xd);
  std::vector<Matrix<double>> bases;
  for (Index l = 0; l < plan.bases; ++l) {
    Matrix<double> one = by_place[static_cast<std::size_t>(l)];
    if (transform.metric.size() > 0) {
      one.setZero();
      for (Index m = 0; m < d; ++m) one += transform.metric(m, l) * by_place[static_cast<std::size_t>(m)];
    }
    if (slopes.size() > 0) one = slopes.col(l).asDiagonal() * one;
    bases.push_back(std::move(one));
  }
  return bases;
}

template <Real T>
std::vector<Matrix<double>> derived_features(const SketchedMap<T>& map, const Kernel& kernel, const DerivedPlan& plan,
                                             ConstView<T> X, const Execution& execution) {
  std::vector<Matrix<double>> bases = derived_features(map.kernel_map(), kernel, plan, X, execution);
  const Matrix<double> C = map.anchor_coefficients(Matrix<double>::Identity(map.n_features(), map.n_features()));
  for (Matrix<double>& one : bases) one = one * C;
  return bases;
}

template <Real T>
Matrix<double> mixed_seconds(const KernelMap<T>& map, ConstView<T> X) {
  const Index d = map.dim_in();
  const Matrix<double> Xd = X.template cast<double>(), U = placed_rows(map.transform(), Xd);
  Matrix<double> out(X.rows(), d * d);
  for (Index i = 0; i < X.rows(); ++i) {
    const Matrix<double> J = input_jacobian(map.transform(), Xd.row(i).transpose());
    Eigen::Map<Matrix<double>>(out.row(i).data(), d, d) =
        J.transpose() * mixed_second(map.kernel(), U.row(i).data(), d) * J;
  }
  return out;
}

#define CARMINA_INSTANTIATE(T)                                                                                    \
  template std::vector<Matrix<double>> derived_features(const FourierMap<T>&, const Kernel&, const DerivedPlan&,  \
                                                        ConstView<T>, const Execution&);                          \
  template std::vector<Matrix<double>> derived_features(const KernelMap<T>&, const Kernel&, const DerivedPlan&,   \
                                                        ConstView<T>, const Execution&);                          \
  template std::vector<Matrix<double>> derived_features(const SketchedMap<T>&, const Kernel&, const DerivedPlan&, \
                                                        ConstView<T>, const Execution&);                          \
  template Matrix<double> mixed_seconds(const KernelMap<T>&, ConstView<T>);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
