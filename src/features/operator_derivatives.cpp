// features/operator_derivatives.cpp -- derivatives of exact operator-valued kernels, from jets of their scalar kernels.
#include "features/derived_features.hpp"
#include "features/input_slopes.hpp"
#include "features/kernel_jet.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

// The means of w_a^2 / |w|^2 over the directions of a kernel's frequencies w. These depend on its widths alone, since w
// is a length times S u, u uniform on the sphere and S_aa = s_a = 1 / width_a. For a Gaussian w
//   E w_a^2 / |w|^2 = int_0^inf E[w_a^2 exp(-t |w|^2)] dt
//                   = int_0^inf s_a^2 / (1 + 2 t s_a^2) prod_b (1 + 2 t s_b^2)^(-1/2) dt,
// by the trapezoidal rule in log t, whose error falls exponentially.
Vector<double> direction_squares(const ScalarKernel& kernel, Index p) {
  const Vector<double> all = Vector<double>::Constant(p, 1 / static_cast<double>(p));
  const std::vector<double> widths = length_scale_values(kernel);
  require(is_stationary(kernel) && !widths.empty(),
          "vector_potential: deviations are known of kernels with widths, found '{}'", kernel_name(kernel));
  if (std::all_of(widths.begin(), widths.end(), [&](double width) { return width == widths[0]; })) return all;
  Vector<double> squares(p), sums = Vector<double>::Zero(p);
  for (Index a = 0; a < p; ++a) squares[a] = std::pow(widths[static_cast<std::size_t>(a)], -2);
  squares /= squares.maxCoeff();
  const double smallest = squares.minCoeff();
  constexpr double step = 0.125;
  for (double u = -40; u <= 40 - std::log(smallest); u += step) {
    const double t = std::exp(u);
    const double whole = (1 + 2 * t * squares.array()).sqrt().prod();
    sums.array() += t * step * squares.array() / (1 + 2 * t * squares.array()) / whole;
  }
  return sums / sums.sum();
}

// One term. A vector field is K(x, z) = P(-d_a d_b k(delta)) m(x, z): k of the place, m what multiplies it, and P what
// makes K_div = tr(K_curl) I - K_curl of K_curl, or leaves that as it is.
class TermJets {
 public:
  TermJets(const Term& term, Index d, Index p) : d_(d), p_(p), weight_(full_weight(term, d)) {
    require(!std::holds_alternative<UserSpectrum>(term.coupling),
            "derivatives: those of a FromSignature kernel are not known; take approximation 'fourier'");
    if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) A_ = matrix->A();
    if (A_.size() == 0) A_ = Matrix<double>::Identity(p, p);
    differential_ = is_differential(term.coupling);
    curl_ = std::holds_alternative<CurlFreeCoupling>(term.coupling);
    if (!differential_) {
      scalar_ = term.scalar;
      return;
    }
    scalar_ = place_of(term).kernel;
    columns_ = place_columns(term, d);
    if (const auto beside = beside_place(term)) beside_ = *beside;
  }

  bool potential() const { return differential_ && curl_; }
  bool stream() const { return differential_ && !curl_; }

  // d/dx_l K(x, z)_ab: out (d, p p), added to.
  void add_gradient(const double* x, const double* z, Matrix<double>& out) {
    if (!differential_) {
      fill_jet(scalar_, x, z, d_, 1, place_);
      for (Index l = 0; l < d_; ++l) out.row(l) += weight_ * place_.at(l) * flat(A_);
      return;
    }
    fill_place(x, z, 3, 1);
    const Matrix<double> K = block([&](Index a, Index b) { return -place_.at(a, b); });
    for (Index l = 0; l < d_; ++l) out.row(l) += weight_ * around_.at(l) * flat(K);
    for (Index c = 0; c < p_; ++c) {
      const Matrix<double> slope = block([&](Index a, Index b) { return -place_.at(c, a, b); });
      out.row(columns_[static_cast<std::size_t>(c)]) += weight_ * around_.value() * flat(slope);
    }
  }

  // d/dx_l d/dz_m K(x, z)_ab at z = x: K_ab m_lm' + (d_l d_m d_a d_b k) m, since odd orders of k are 0 there. Entry
  // [l d + m] is the (p, p) matrix.
  std::vector<Matrix<double>> mixed(const double* x) {
    std::vector<Matrix<double>> out(static_cast<std::size_t>(d_ * d_), Matrix<double>::Zero(p_, p_));
    if (!differential_) {
      const Matrix<double> second = mixed_second(scalar_, x, d_);
      for (Index l = 0; l < d_ * d_; ++l) out[static_cast<std::size_t>(l)] = weight_ * second.data()[l] * A_;
      return out;
    }
    fill_place(x, x, 4, 1);
    const Matrix<double> K = block([&](Index a, Index b) { return -place_.at(a, b); });
    if (beside_) {
      const Matrix<double> second = mixed_second(*beside_, x, d_);
      for (Index l = 0; l < d_ * d_; ++l) out[static_cast<std::size_t>(l)] = weight_ * second.data()[l] * K;
    }
    for (Index c = 0; c < p_; ++c) {
      for (Index e = 0; e < p_; ++e) {
        const Index at = columns_[static_cast<std::size_t>(c)] * d_ + columns_[static_cast<std::size_t>(e)];
        out[static_cast<std::size_t>(at)] +=
            weight_ * around_.value() * block([&](Index a, Index b) { return place_.at(c, e, a, b); });
      }
    }
    return out;
  }

  // The antiderivatives of the kernel's column b: f = sum_b K(x, z)_.b c_b has the potential -d_b k c_b m; of two
  // outputs without divergence the stream function -d_2 k c_1 + d_1 k c_2, times m; of three the vector potential
  // grad k x c m, since curl curl (k c) = K c.
  void add_antiderivative(const double* x, const double* z, Matrix<double>& out) {
    fill_place(x, z, 1, 0);
    const double size = weight_ * around_.value();
    if (curl_) {
      for (Index b = 0; b < p_; ++b) out(0, b) -= size * place_.at(b);
    } else if (p_ == 2) {
      out(0, 0) -= size * place_.at(1), out(0, 1) += size * place_.at(0);
    } else {
      for (Index a = 0; a < p_; ++a) {
        const Index b = (a + 1) % p_, c = (a + 2) % p_;
        out(a, c) += size * place_.at(b), out(a, b) -= size * place_.at(c);
      }
    }
  }
  // Their variances: k(0) m(x, x), of component a of a vector potential times the mean of 1 - w_a^2 / |w|^2.
  Vector<double> own(const double* x) {
    fill_place(x, x, 0, 0);
    const double size = weight_ * place_.value() * around_.value();
    if (curl_ || p_ == 2) return Vector<double>::Constant(1, size);
    if (across_.size() == 0) across_ = Vector<double>::Ones(p_) - direction_squares(scalar_, p_);
    return size * across_;
  }

 private:
  static Eigen::Map<const Eigen::RowVectorXd> flat(const Matrix<double>& K) { return {K.data(), K.size()}; }

  void fill_place(const double* x, const double* z, int place_order, int order) {
    Vector<double> xp(p_), zp(p_);
    for (Index a = 0; a < p_; ++a) {
      const Index column = columns_[static_cast<std::size_t>(a)];
      xp[a] = x[column], zp[a] = z[column];
    }
    fill_jet(scalar_, xp.data(), zp.data(), p_, place_order, place_);
    if (beside_) return fill_jet(*beside_, x, z, d_, order, around_);
    around_.resize(d_, order);
    around_.of[0][0] = 1;
  }

  template <class Curl>
  Matrix<double> block(const Curl& curl) const {
    Matrix<double> K(p_, p_);
    for (Index a = 0; a < p_; ++a) {
      for (Index b = 0; b < p_; ++b) K(a, b) = curl(a, b);
    }
    if (curl_) return K;
    const double trace = K.trace();
    K = -K;
    K.diagonal().array() += trace;
    return K;
  }

  Index d_, p_;
  double weight_;
  Matrix<double> A_;
  bool differential_ = false, curl_ = false;
  ScalarKernel scalar_ = Gaussian(1.0);
  std::vector<Index> columns_;
  std::optional<ScalarKernel> beside_;
  Vector<double> across_;
  KernelJet place_, around_;
};

std::vector<TermJets> jets_of(const Kernel& kernel, const DerivedPlan& plan, Index d, Index p) {
  std::vector<TermJets> out;
  for (const Term& term : kernel.terms()) {
    TermJets one(term, d, p);
    const bool taken = plan.basis == DerivedPlan::Basis::gradient ||
                       (plan.basis == DerivedPlan::Basis::potential ? one.potential() : one.stream());
    if (taken) out.push_back(std::move(one));
  }
  return out;
}

// du/dx at a row; the identity where nothing is done to inputs.
Matrix<double> jacobian_at(const InputTransform& transform, const Matrix<double>& X, Index i) {
  return input_jacobian(transform, X.row(i).transpose());
}

}  // namespace

template <Real T>
Matrix<double> derived_blocks(const OperatorMap<T>& map, const DerivedPlan& plan, ConstView<T> X,
                              const Execution& execution) {
  const Index d = map.dim_in(), p = map.dim_out(), s = map.n_features(), q = plan.size();
  const Matrix<double> Xd = X.template cast<double>(), U = placed_rows(map.transform(), Xd),
                       Z = placed_rows(map.transform(), Matrix<double>(map.anchors().template cast<double>()));
  const bool gradient = plan.basis == DerivedPlan::Basis::gradient;
  const double unit = gradient ? 1 : common_factor(map.transform(), plan.columns);
  Matrix<double> out = Matrix<double>::Zero(X.rows() * q, s * p);
  parallel_for(X.rows(), execution.thread_count(), [&](Index i, int worker) {
    execution.poll(worker);
    std::vector<TermJets> jets = jets_of(map.kernel(), plan, d, p);
    const Matrix<double> J = jacobian_at(map.transform(), Xd, i);
    Matrix<double> slopes(d, p * p);
    Matrix<double> antiderivatives(q, p);
    for (Index j = 0; j < s; ++j) {
      const double *x = U.row(i).data(), *z = Z.row(j).data();
      if (gradient) {
        slopes.setZero();
        for (TermJets& one : jets) one.add_gradient(x, z, slopes);
        const Matrix<double> by_input = J.transpose() * slopes;
        for (Index k = 0; k < q; ++k) {
          for (const auto& part : plan.quantities[static_cast<std::size_t>(k)]) {
            out.row(i * q + k).segment(j * p, p) += part.factor * by_input.row(part.basis).segment(part.output * p, p);
          }
        }
      } else {
        antiderivatives.setZero();
        for (TermJets& one : jets) one.add_antiderivative(x, z, antiderivatives);
        out.block(i * q, j * p, q, p) = antiderivatives / unit;
      }
    }
  });
  return out;
}

template <Real T>
Matrix<double> derived_own(const OperatorMap<T>& map, const DerivedPlan& plan, const Vector<double>& scale,
                           ConstView<T> X) {
  const Index d = map.dim_in(), p = map.dim_out();
  const Matrix<double> Xd = X.template cast<double>(), U = placed_rows(map.transform(), Xd);
  const bool gradient = plan.basis == DerivedPlan::Basis::gradient;
  const double unit = gradient ? 1 : common_factor(map.transform(), plan.columns);
  std::vector<TermJets> jets = jets_of(map.kernel(), plan, d, p);
  Matrix<double> out = Matrix<double>::Zero(X.rows(), plan.size());
  for (Index i = 0; i < X.rows(); ++i) {
    const double* const x = U.row(i).data();
    if (!gradient) {
      for (TermJets& one : jets) out.row(i) += one.own(x).transpose() / (unit * unit);
      continue;
    }
    std::vector<Matrix<double>> mixed(static_cast<std::size_t>(d * d), Matrix<double>::Zero(p, p));
    for (TermJets& one : jets) {
      const std::vector<Matrix<double>> own = one.mixed(x);
      for (std::size_t l = 0; l < mixed.size(); ++l) mixed[l] += own[l];
    }
    const Matrix<double> J = jacobian_at(map.transform(), Xd, i);
    for (Index k = 0; k < plan.size(); ++k) {
      for (const auto& one : plan.quantities[static_cast<std::size_t>(k)]) {
        for (const auto& other : plan.quantities[static_cast<std::size_t>(k)]) {
          Matrix<double> entries(d, d);
          for (Index l = 0; l < d * d; ++l) {
            entries.data()[l] = mixed[static_cast<std::size_t>(l)](one.output, other.output);
          }
          out(i, k) += one.factor * other.factor * scale[one.output] * scale[other.output] *
                       J.col(one.basis).dot(entries * J.col(other.basis));
        }
      }
    }
  }
  return out;
}

#define CARMINA_INSTANTIATE(T)                                                                                       \
  template Matrix<double> derived_blocks(const OperatorMap<T>&, const DerivedPlan&, ConstView<T>, const Execution&); \
  template Matrix<double> derived_own(const OperatorMap<T>&, const DerivedPlan&, const Vector<double>&, ConstView<T>);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

}  // namespace carmina
