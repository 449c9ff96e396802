// solvers/differential_factors.hpp -- the factor B(w) of curl-free and divergence-free kernels, and its derivative.
//
// curl-free: B = w (p, 1). Divergence-free: B = |w| I - w wᵀ / |w| (p, p), with B Bᵀ = |w|^2 I - w wᵀ (SPEC 1b, 1c).
#pragma once
#include <carmina/core/matrix.hpp>

namespace carmina {

class DifferentialFactor {
 public:
  DifferentialFactor(bool curl_free, Index p) : curl_(curl_free), p_(p) {}

  Index columns() const { return curl_ ? p_ : p_ * p_; }  // numbers in B

  // out = size B(w), row-major
  void factor(const double* frequency, double size, double* out) const {
    const Eigen::Map<const Vector<double>> w(frequency, p_);
    if (curl_) {
      Eigen::Map<Vector<double>>(out, p_) = size * w;
      return;
    }
    Eigen::Map<Matrix<double>> B(out, p_, p_);
    const double length = w.norm();
    B.setZero();
    if (!(length > 0)) return;
    B = -size / length * w * w.transpose();
    B.diagonal().array() += size * length;
  }

  // For L with dL/d(size B) = G: adds dL/dw at fixed size. With u = w / |w|:
  // divergence-free u (tr G - uᵀ G u) - (I - u uᵀ)(G + Gᵀ) u.
  void add_gradient(const double* frequency, double size, const double* by_factor, double* out) const {
    const Eigen::Map<const Vector<double>> w(frequency, p_);
    Eigen::Map<Vector<double>> sum(out, p_);
    if (curl_) {
      sum += size * Eigen::Map<const Vector<double>>(by_factor, p_);
      return;
    }
    const Eigen::Map<const Matrix<double>> G(by_factor, p_, p_);
    const double length = w.norm();
    if (!(length > 0)) return;
    const Vector<double> u = w / length, turned = G * u + G.transpose() * u;
    sum += size * (u * (G.trace() - u.dot(G * u)) - turned + u * u.dot(turned));
  }

 private:
  bool curl_;
  Index p_;
};

}  // namespace carmina
