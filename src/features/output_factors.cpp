// features/output_factors.cpp -- products with the factors of a coupling, which are stored only where they are numbers.
#include "features/output_factors.hpp"

#include <algorithm>
#include <cmath>

namespace carmina {
namespace {

using Map = Eigen::Map<Vector<double>>;
using ConstMap = Eigen::Map<const Vector<double>>;

// What the divergence-free factor of w is made of.
struct Reflection {
  ConstMap u;
  double norm, sign, inverse;  // |w|; s; 1 / (|w| + |w_1|), 0 at w = 0

  Reflection(const double* w, Index d)
      : u(w + 1, d - 1), norm(ConstMap(w, d).norm()), sign(w[0] >= 0 ? 1 : -1), inverse(0) {
    if (norm > 0) inverse = 1 / (norm + std::abs(w[0]));
  }
};

}  // namespace

OutputFactors::OutputFactors(const OutputCoupling& coupling, Index dim_out, const Matrix<double>& W)
    : p_(dim_out),
      columns_(factor_columns(coupling, dim_out)),
      curl_free_(std::holds_alternative<CurlFreeCoupling>(coupling)),
      divergence_free_(std::holds_alternative<DivergenceFreeCoupling>(coupling)) {
  if (const auto* matrix = std::get_if<OutputMatrix>(&coupling)) {
    root_ = factor_output_matrix(matrix->A()).root();
  } else if (const auto* spectrum = std::get_if<UserSpectrum>(&coupling)) {
    root_ = checked_factors(**spectrum, W);
    step_ = p_;
  } else {
    require(is_differential(coupling) || std::holds_alternative<Independent>(coupling),
            "factors: those of the coupling '{}' are known to a fit alone", coupling_name(coupling));
  }
  if (root_.size() > 0) columns_ = root_.cols();
}

Matrix<double> OutputFactors::factor(Index j, const double* w) const {
  if (curl_free_) return ConstMap(w, p_);
  if (root_.size() > 0) return stored(j);
  Matrix<double> B = Matrix<double>::Identity(p_, columns_);
  if (divergence_free_) {
    const Reflection r(w, p_);
    B.row(0) = -r.sign * r.u.transpose();
    B.bottomRows(columns_) = -r.inverse * r.u * r.u.transpose();
    B.bottomRows(columns_).diagonal().array() += r.norm;
  }
  return B;
}

void OutputFactors::multiply(Index j, const double* w, const double* y, double* out) const {
  if (curl_free_) {
    Map(out, p_) = y[0] * ConstMap(w, p_);
  } else if (divergence_free_) {
    const Reflection r(w, p_);
    const ConstMap head(y, columns_);
    const double product = r.u.dot(head);
    out[0] = -r.sign * product;
    Map(out + 1, columns_) = r.norm * head - r.inverse * product * r.u;
  } else if (root_.size() > 0) {
    Map(out, p_).noalias() = stored(j) * ConstMap(y, columns_);
  } else {
    std::copy_n(y, p_, out);
  }
}

void OutputFactors::multiply_transposed(Index j, const double* w, const double* z, double* out) const {
  if (curl_free_) {
    out[0] = ConstMap(w, p_).dot(ConstMap(z, p_));
  } else if (divergence_free_) {
    const Reflection r(w, p_);
    const ConstMap tail(z + 1, columns_);
    Map(out, columns_) = r.norm * tail - (r.sign * z[0] + r.inverse * r.u.dot(tail)) * r.u;
  } else if (root_.size() > 0) {
    Map(out, columns_).noalias() = stored(j).transpose() * ConstMap(z, p_);
  } else {
    std::copy_n(z, p_, out);
  }
}

// With G = (gᵀ; T) by rows and q = uᵀ T u / (|w| + |w_1|)^2:
//   dL/du = -s g - (T + Tᵀ) u / (|w| + |w_1|), by |w| tr T + q, by |w_1| q.
void OutputFactors::add_gradient(const double* w, const Matrix<double>& by_factor, double* out) const {
  if (curl_free_) Map(out, p_) += by_factor.col(0);
  if (!divergence_free_) return;
  const Reflection r(w, p_);
  if (!(r.norm > 0)) return;
  const auto T = by_factor.bottomRows(columns_);
  const Vector<double> product = T * r.u + T.transpose() * r.u;
  const double q = r.inverse * r.inverse * r.u.dot(product) / 2;
  Map(out, p_) += (T.trace() + q) / r.norm * ConstMap(w, p_);
  out[0] += r.sign * q;
  Map(out + 1, columns_) -= r.sign * by_factor.row(0).transpose() + r.inverse * product;
}

}  // namespace carmina
