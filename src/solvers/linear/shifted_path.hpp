// solvers/linear/shifted_path.hpp -- (delta_j H + alpha I) x_j = r_j for many alphas: one decomposition, then O(m) for
// each.
#pragma once
#include <carmina/core/execution.hpp>
#include <vector>

namespace carmina {

// H = Q T Qᵀ with T tridiagonal, and (delta_j T + alpha I) Qᵀ x_j = Qᵀ r_j for each alpha. For m = 512, 2048 and 4096
// this took 0.3, 0.3 to 0.4 and 0.6 of the time of 20 Cholesky factors (one thread, user time), eigenvectors 0.75, 0.9
// and 1.2. H's eigenvalues are T's.
//
// T is diagonal, and Q the eigenvectors, when those are asked for, or when delta H + alpha I is singular to rounding
// for the smallest alpha: then eigenvalues that are rounding count as zero, as in solve_shifted.
class ShiftedPath {
 public:
  // H (m, m) by its lower triangle; R (m, q), a delta for each column.
  ShiftedPath(Matrix<double> H, const Matrix<double>& R, Vector<double> delta, double smallest_alpha, bool want_vectors,
              const Execution& execution);

  // x_j for all columns and alphas: (m, q) for each alpha.
  std::vector<Matrix<double>> solve(const std::vector<double>& alphas, const Execution& execution) const;
  Matrix<double> solve(double alpha, const Execution& execution) const;

  // tr delta H (delta H + alpha I)^-1
  double degrees_of_freedom(double delta, double alpha) const;

  const Vector<double>& delta() const { return delta_; }
  const Vector<double>& values() const { return values_; }    // eigenvalues of H; those that are rounding are 0
  const Matrix<double>& vectors() const { return factor_; }   // row i: the i-th eigenvector, where they were asked for
  const Matrix<double>& rotated() const { return rotated_; }  // Qᵀ R
  // 1 / (delta g + alpha); none where that is rounding, as solve_shifted() has it.
  Vector<double> filter(double delta, double alpha) const {
    return values_.unaryExpr([&](double g) {
      const double divisor = delta * g + alpha;
      return divisor > delta * rounding_ ? 1 / divisor : 0.0;
    });
  }

 private:
  bool tridiagonalise(double smallest_alpha, const Execution& execution);
  void solve_rotated(double alpha, Eigen::Ref<Matrix<double>, 0, Eigen::OuterStride<>> x) const;
  void rotate_back(Matrix<double>& x, const Execution& execution) const;

  Matrix<double> factor_;  // eigenvectors, or in the lower triangle what stands for Q, H above it
  Vector<double> diagonal_, off_diagonal_, scales_;
  Vector<double> values_, delta_;
  Matrix<double> rotated_;
  double rounding_ = 0;  // of eigenvalues
  bool has_vectors_;
};

}  // namespace carmina
