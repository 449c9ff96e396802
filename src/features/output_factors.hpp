// features/output_factors.hpp -- the factors B_j (p, p') of the frequencies of one coupling: A(w_j) = B_j B_jᵀ.
//
// Independent outputs: B = I. An output matrix: its root. Curl-free: B = w. Divergence-free (mathematics.md 1b): B =
// |w| H[:, 2:d] with the Householder reflection H that takes w to a multiple of e_1. With s = 1 for w_1 >= 0, else -1,
// and w = (w_1, u),
//   B = [ -s uᵀ ; |w| I - u uᵀ / (|w| + |w_1|) ]  (d, d - 1),   B Bᵀ = |w|^2 I - w wᵀ.
// B jumps where w_1 changes its sign, B Bᵀ does not: a gradient of what depends on B Bᵀ alone is right on either side.
#pragma once
#include <carmina/kernels/coupling.hpp>

namespace carmina {

class OutputFactors {
 public:
  // W (count, d): the frequencies that a user's spectrum gives factors of; all others are functions of w_j.
  OutputFactors(const OutputCoupling& coupling, Index dim_out, const Matrix<double>& W = {});

  Index dim_out() const { return p_; }
  Index columns() const { return columns_; }

  // Of frequency j, which is w (d).
  Matrix<double> factor(Index j, const double* w) const;                                   // B_j (p, p')
  void multiply(Index j, const double* w, const double* y, double* out) const;             // out (p) = B_j y
  void multiply_transposed(Index j, const double* w, const double* z, double* out) const;  // out (p') = B_jᵀ z
  // For L with dL/dB = by_factor (p, p'): adds dL/dw. Nothing where B is no function of w that is known here.
  void add_gradient(const double* w, const Matrix<double>& by_factor, double* out) const;

 private:
  auto stored(Index j) const { return root_.middleRows(j * step_, p_); }

  Index p_, columns_, step_ = 0;
  bool curl_free_, divergence_free_;
  Matrix<double> root_;  // B, or of a spectrum all B_j one below the other; empty: the identity
};

}  // namespace carmina
