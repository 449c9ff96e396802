// models/choose/kernel_slopes.hpp -- g'(t) for all pairs of rows, some rows at a time.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

#include <algorithm>

namespace carmina {

// k = g(t) with t = |z_i - z_l|^2 / (2 l^2); g'(t), finite where rows are equal: its value there stands beside a
// difference that is 0.
class KernelSlopes {
 public:
  KernelSlopes(const ScalarKernel& kernel, const Matrix<double>& Z)
      : kernel_(kernel), Z_(Z), norms_(Z.rowwise().squaredNorm()) {}

  Index blocks() const { return (Z_.rows() + together - 1) / together; }
  Index first(Index block) const { return block * together; }
  Index count(Index block) const { return std::min(together, Z_.rows() - first(block)); }
  // Against the first so many rows: (count, columns).
  Matrix<double> values(Index block, Index columns) const;

 private:
  static constexpr Index together = 128;
  const ScalarKernel& kernel_;
  const Matrix<double>& Z_;
  Vector<double> norms_;
};

}  // namespace carmina
