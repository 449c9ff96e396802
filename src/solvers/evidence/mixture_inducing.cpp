// solvers/evidence/mixture_inducing.cpp -- the variational bound of inducing points, streamed over rows (mathematics.md
// 3f, VFE).
//
// With K_uu = L Lᵀ and V = L^-1 K_uf, all that the rows give are sums:
//   V Vᵀ (m, m),  V Y (m, p),  |Y|^2,     B = I + V Vᵀ / s = LB LBᵀ,   s the noise variance.
// With weights, columns of V and rows of Y are multiplied by their square roots, and n is the sum of the weights.
// Taking them of V and not of K_uf keeps them as exact as K_uu is ill conditioned.
#include "backends/tiled.hpp"
#include "solvers/evidence/mixture_checks.hpp"
#include "solvers/evidence/mixture_processes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carmina {
namespace {

using backend::Transpose;

constexpr double jitter = 1e-8;  // of sum w, added to the diagonal of K_uu
constexpr Index tile = 128;
constexpr Index inducing_rows_at_once = 4096;

// Calls body(first, count) for tiles of [0, size), each on one thread.
template <class Body>
void over_tiles(Index size, const Execution& execution, const Body& body) {
  parallel_for((size + tile - 1) / tile, execution.thread_count(), [&](Index t, int worker) {
    execution.poll(worker);
    body(t * tile, std::min(tile, size - t * tile));
  });
}

void factor(const char* what, Matrix<double>& A, const Execution& execution) {
  require(backend::cholesky(A.rows(), A.data(), A.outerStride(), execution),
          "inducing process: {} is not positive definite to rounding; a larger noise is needed", what);
  A.triangularView<Eigen::StrictlyUpper>().setZero();
}

// L^-T W L^-1 of a symmetric W
Matrix<double> between_solves(const Matrix<double>& L, Matrix<double> W) {
  const Index m = L.rows();
  backend::lower_transposed_solve(m, m, L.data(), m, W.data(), m);
  W.transposeInPlace();
  backend::lower_transposed_solve(m, m, L.data(), m, W.data(), m);
  return W;
}

class Inducing {
 public:
  Inducing(const Mixture& mixture, double noise, ConstView<double> Z, ConstView<double> X, ConstView<double> Y,
           const Execution& execution, const Vector<double>& weights)
      : mixture_(mixture),
        s_(noise),
        Z_(Z),
        X_(X),
        execution_(execution),
        m_(Z.rows()),
        n_(weights.size() > 0 ? weights.sum() : static_cast<double>(X.rows())),
        roots_(weights.cwiseSqrt()) {
    check_process("inducing process", mixture, noise, X, Y, weights);
    Y_ = Y;
    if (roots_.size() > 0) Y_.array().colwise() *= roots_.array();
    require(m_ > 0 && Z.cols() == X.cols(),
            "inducing process: inducing points must be (at least 1, {}), found ({}, {})", X.cols(), m_, Z.cols());
    require(Z.allFinite(), "inducing process: inducing points must be finite, found NaN or infinity");
    L.resize(m_, m_);
    mixture_values(mixture, Z, Z, L, execution);
    L.diagonal().array() += jitter * mixture.weights.sum();
    factor("K_uu", L, execution);
    sum_rows();
    B /= s_;
    B.diagonal().array() += 1;
    B.triangularView<Eigen::StrictlyUpper>() = B.transpose();
    LB = B;
    factor("B", LB, execution);
    c = VY / s_;
    backend::lower_solve(m_, c.cols(), LB.data(), m_, c.data(), c.cols());
    v = c;
    backend::lower_transposed_solve(m_, v.cols(), LB.data(), m_, v.data(), v.cols());
  }

  // F = -p (n/2 log(2 pi s) + sum log LB_ii + (n sum w - tr V Vᵀ) / (2 s)) - |Y|^2 / (2 s) + |c|^2 / 2
  double value() const {
    return -p() *
               (n() / 2 * std::log(2 * std::numbers::pi * s_) + LB.diagonal().array().log().sum() + lost() / (2 * s_)) -
           Y_.squaredNorm() / (2 * s_) + c.squaredNorm() / 2;
  }

  void add_gradient(MixtureEvidence& out) const;

  Matrix<double> coefficients() const {
    Matrix<double> g = v;
    backend::lower_transposed_solve(m_, g.cols(), L.data(), m_, g.data(), g.cols());
    return g;
  }

  Matrix<double> L, LB;

 private:
  double n() const { return n_; }
  double p() const { return static_cast<double>(Y_.cols()); }
  // What the inducing points do not see of the prior's variance: tr(K_ff - VᵀV).
  double lost() const { return n() * mixture_.weights.sum() - VV_trace_; }

  // V for rows [first, first + count), (m, count)
  Matrix<double> solved_columns(Index first, Index count) const {
    Matrix<double> V(m_, count);
    mixture_values(mixture_, Z_, X_.middleRows(first, count), V, execution_);
    over_tiles(count, execution_, [&](Index begin, Index width) {
      backend::lower_solve(m_, width, L.data(), m_, V.data() + begin, count);
    });
    weigh(V, first);
    return V;
  }
  // Columns for rows from `first` on, by the roots of their weights.
  void weigh(Matrix<double>& columns, Index first) const {
    if (roots_.size() > 0) columns.array().rowwise() *= roots_.segment(first, columns.cols()).transpose().array();
  }

  template <class Body>
  void over_rows(const Body& body) const {
    const Index n = X_.rows();
    for (Index first = 0; first < n; first += inducing_rows_at_once)
      body(first, std::min(inducing_rows_at_once, n - first));
  }

  // B becomes the lower triangle of V Vᵀ.
  void sum_rows() {
    B.setZero(m_, m_);
    VY.setZero(m_, Y_.cols());
    over_rows([&](Index first, Index count) {
      const Matrix<double> V = solved_columns(first, count);
      over_tiles(m_, execution_, [&](Index begin, Index height) {
        const double* const rows = V.data() + begin * count;
        backend::gemm<double>(Transpose::no, Transpose::yes, height, begin + height, count, 1, rows, count, V.data(),
                              count, 1, B.data() + begin * m_, m_);
        backend::gemm<double>(Transpose::no, Transpose::no, height, Y_.cols(), count, 1, rows, count,
                              Y_.data() + first * Y_.outerStride(), Y_.outerStride(), 1, VY.data() + begin * Y_.cols(),
                              Y_.cols());
      });
    });
    VV_trace_ = B.trace();
  }

  const Mixture& mixture_;
  double s_;
  ConstView<double> Z_, X_;
  Matrix<double> Y_;
  Execution execution_;
  Index m_;
  double n_;
  Vector<double> roots_;  // of the weights
  Matrix<double> B, VY;
  Matrix<double> c, v;  // LB^-1 V Y / s, B^-1 V Y / s: (m, p)
  double VV_trace_ = 0;
};

// With v = B^-1 V Y / s, of which g = S^-1 K_uf Y of mathematics.md 3f is L^-T v, its formulas for p outputs become
//   dF/dK_uf = L^-T ([p (I - B^-1) - v vᵀ] V + v Yᵀ) / s
//   dF/dK_uu = L^-T [p (2 I - B^-1 - B) - v vᵀ] L^-1 / 2
//   dF/ds    = -(p tr B^-1 + |v|^2 + p (n - m)) / (2 s) + (|Y|^2 - <V Y, v> + p tr(K_ff - VᵀV)) / (2 s^2)
//   dF/dtr K_ff = -p / (2 s)
void Inducing::add_gradient(MixtureEvidence& out) const {
  const auto m = static_cast<double>(m_);
  Matrix<double> inverse = LB;
  backend::cholesky_inverse(m_, inverse.data(), m_, execution_);
  inverse.triangularView<Eigen::StrictlyUpper>() = inverse.transpose();
  out.by_noise = -(p() * inverse.trace() + v.squaredNorm() + p() * (n() - m)) / (2 * s_) +
                 (Y_.squaredNorm() - VY.cwiseProduct(v).sum() + p() * lost()) / (2 * s_ * s_);

  Matrix<double> H = -p() * inverse - v * v.transpose();
  H.diagonal().array() += p();
  Matrix<double> W = (H - p() * B) / 2;
  W.diagonal().array() += p() / 2;
  const Matrix<double> by_Kuu = between_solves(L, std::move(W));
  mixture_gradient(mixture_, Z_, Z_, by_Kuu, out.by_mixture, &out.by_inducing, execution_);
  out.by_inducing *= 2;  // each point is a row and a column of K_uu
  out.by_mixture.weights.array() += jitter * by_Kuu.trace() - p() * n() / (2 * s_);

  H /= s_;
  const Matrix<double> share = v / s_;
  over_rows([&](Index first, Index count) {
    const Matrix<double> V = solved_columns(first, count);
    Matrix<double> by_Kuf(m_, count);
    over_tiles(count, execution_, [&](Index begin, Index width) {
      double* const to = by_Kuf.data() + begin;
      backend::gemm<double>(Transpose::no, Transpose::no, m_, width, m_, 1, H.data(), m_, V.data() + begin, count, 0,
                            to, count);
      backend::gemm<double>(Transpose::no, Transpose::yes, m_, width, Y_.cols(), 1, share.data(), share.cols(),
                            Y_.data() + (first + begin) * Y_.outerStride(), Y_.outerStride(), 1, to, count);
      backend::lower_transposed_solve(m_, width, L.data(), m_, to, count);
    });
    weigh(by_Kuf, first);
    mixture_gradient(mixture_, Z_, X_.middleRows(first, count), by_Kuf, out.by_mixture, &out.by_inducing, execution_);
  });
}

}  // namespace

MixtureEvidence inducing_evidence(const Mixture& mixture, double noise, ConstView<double> Z, ConstView<double> X,
                                  ConstView<double> Y, bool gradient, const Execution& execution,
                                  const Vector<double>& weights) {
  const Inducing inducing(mixture, noise, Z, X, Y, execution, weights);
  MixtureEvidence evidence{inducing.value(), zero_like(mixture), 0, Matrix<double>::Zero(Z.rows(), Z.cols())};
  if (gradient) inducing.add_gradient(evidence);
  return evidence;
}

MixtureProcess inducing_process(const Mixture& mixture, double noise, ConstView<double> Z, ConstView<double> X,
                                ConstView<double> Y, const Execution& execution, const Vector<double>& weights) {
  Inducing inducing(mixture, noise, Z, X, Y, execution, weights);
  return {Z, inducing.coefficients(), std::move(inducing.L), std::move(inducing.LB)};
}

}  // namespace carmina
