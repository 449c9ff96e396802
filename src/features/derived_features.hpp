// features/derived_features.hpp -- features of derivatives: what stands in the place of phi(x) for linear functionals
// of f = Thetaᵀ phi.
#pragma once
#include "features/fourier_map.hpp"
#include "features/operator_map.hpp"
#include "features/sketched_map.hpp"

#include <carmina/kernels/kernel.hpp>

#include <vector>

namespace carmina {

// Numbers q(x) = sum over the parts of q of factor (L f_output)(x), L by the basis.
//
//   gradient   L_b = d/dx_b, b an input
//   potential  L_b takes from output b of the curl-free terms what it adds to their potential
//   stream     the same of divergence-free terms of two outputs and their stream function
//   vector     of those of three outputs: with A_a = sum_bc e_abc L_c f_b, e_abc the sign of the permutation
struct DerivedPlan {
  enum class Basis { gradient, potential, stream, vector };
  struct Part {
    Index output, basis;
    double factor;
  };
  Basis basis = Basis::gradient;
  std::vector<std::vector<Part>> quantities;
  std::vector<Index> columns;  // inputs that the outputs belong to; none: no vector field
  Index bases = 0;

  Index size() const { return static_cast<Index>(quantities.size()); }
};

// L_b phi(x) for each basis: (rows, features), in double.
template <Real T>
std::vector<Matrix<double>> derived_features(const FourierMap<T>& map, const Kernel& kernel, const DerivedPlan& plan,
                                             ConstView<T> X, const Execution& execution);
template <Real T>
std::vector<Matrix<double>> derived_features(const KernelMap<T>& map, const Kernel& kernel, const DerivedPlan& plan,
                                             ConstView<T> X, const Execution& execution);
template <Real T>
std::vector<Matrix<double>> derived_features(const SketchedMap<T>& map, const Kernel& kernel, const DerivedPlan& plan,
                                             ConstView<T> X, const Execution& execution);

// Exact operator-valued kernels: q of K(x, z_j) e_b for each quantity, (rows, quantities anchors p), row after row.
template <Real T>
Matrix<double> derived_blocks(const OperatorMap<T>& map, const DerivedPlan& plan, ConstView<T> X,
                              const Execution& execution);
// Its covariance with itself at each row, (rows, quantities), outputs times `scale`.
template <Real T>
Matrix<double> derived_own(const OperatorMap<T>& map, const DerivedPlan& plan, const Vector<double>& scale,
                           ConstView<T> X);
// d/dx_l d/dz_m k(x, z) at z = x of each row: (rows, d d), in the units of the data.
template <Real T>
Matrix<double> mixed_seconds(const KernelMap<T>& map, ConstView<T> X);

}  // namespace carmina
