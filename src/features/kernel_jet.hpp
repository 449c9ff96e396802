// features/kernel_jet.hpp -- derivatives of scalar kernels in their first argument.
#pragma once
#include <carmina/kernels/scalar_kernel.hpp>

#include <array>
#include <vector>

namespace carmina {

// k(x, z) and its derivatives in x: order n has d^n numbers, symmetric in their indices.
struct KernelJet {
  static constexpr int highest = 4;
  Index d = 0;
  int order = 0;
  std::array<std::vector<double>, highest + 1> of;  // of[0] the value

  void resize(Index inputs, int most);
  double value() const { return of[0][0]; }
  double at(Index a) const { return of[1][static_cast<std::size_t>(a)]; }
  double at(Index a, Index b) const { return of[2][static_cast<std::size_t>(a * d + b)]; }
  double at(Index a, Index b, Index c) const { return of[3][static_cast<std::size_t>((a * d + b) * d + c)]; }
  double at(Index a, Index b, Index c, Index e) const {
    return of[4][static_cast<std::size_t>(((a * d + b) * d + c) * d + e)];
  }
};

// Why the kernel has no derivative; null when it has.
const char* why_no_gradient(const ScalarKernel& kernel);

// At one pair of rows. The fourth order of a stationary kernel is for x = z alone.
void fill_jet(const ScalarKernel& kernel, const double* x, const double* z, Index d, int order, KernelJet& jet);

// d/dx_l d/dz_m k(x, z) at z = x, (d, d).
Matrix<double> mixed_second(const ScalarKernel& kernel, const double* x, Index d);

}  // namespace carmina
