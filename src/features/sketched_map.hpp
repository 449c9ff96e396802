// features/sketched_map.hpp -- features whose products are the sketched kernel K Sᵀ (S K Sᵀ)^+ S K.
#pragma once
#include "features/kernel_map.hpp"

#include <carmina/sketches/sketch.hpp>

namespace carmina {

// [ElAhmad2023, Prop. 1] z(x) = D_r^(-1/2) U_rᵀ S k(x), where H = S K Sᵀ = U D Uᵀ and only eigenvalues
// mu > mu_1 max(s eps, floor) are kept (mathematics.md 2b). S is the mixing times the selection of anchor rows, so k(x)
// and K are needed at anchors only. A function of z is a function of the kernel's space with the same norm: the
// penalty's matrix is the identity.
//
// H, and everything behind the kernel values, is in double; the values themselves are in T. In float the floor is 1e-9
// in place of 1e-12: dividing by sqrt(mu) enlarges the values' rounding, with a higher floor the fit lost accuracy, and
// with products in float z was 3 to 10 times further off. A value, immutable.
//
// Where K Sᵀ of all rows fits in memory, the rows at anchors give H without a kernel value more: mixed_kernel, then
// whitening_from.
template <Real T>
class SketchedMap {
 public:
  using Scalar = T;
  static constexpr Index parts = 1;

  SketchedMap(ScalarKernel kernel, Matrix<T> anchors, Mixing mixing, InputTransform transform = {},
              const Execution& execution = {});
  // With a whitening (s, r) that is already known.
  SketchedMap(KernelMap<T> kernel_map, Mixing mixing, Matrix<double> whitening);

  Index dim_in() const { return kernel_map_.dim_in(); }
  Index units() const { return whitening_.cols(); }
  Index n_features() const { return units(); }                    // r, the rank of H
  Index n_components() const { return rows_of(mixing_); }         // s
  const KernelMap<T>& kernel_map() const { return kernel_map_; }  // values at the anchors
  const InputTransform& transform() const { return kernel_map_.transform(); }
  const Mixing& mixing() const { return mixing_; }
  const Matrix<double>& whitening() const { return whitening_; }  // U_r D_r^(-1/2) (s, r)

  // C (s', p) with z(x)ᵀ Theta = k(x)ᵀ C, Theta (r, p): a function of these features as one of the kernel map.
  Matrix<double> anchor_coefficients(const Matrix<double>& Theta) const;

  Index prepared_size(Index rows) const { return rows * n_features() + kernel_map_.prepared_size(rows); }
  struct Prepared {
    const T* z;  // (rows, r)
    Index rows;
  };
  Prepared prepare(const T* X, Index ldx, Index rows, T* scratch) const;
  void tile(const Prepared& rows, Index first, Index count, T* out, Index part_offset, Index ldo) const;

 private:
  void fold();
  void folded_values(const typename KernelMap<T>::Prepared& rows, T* z) const;

  KernelMap<T> kernel_map_;
  Mixing mixing_;
  Matrix<double> whitening_;
  Matrix<T> direct_;  // (r, s'), whiteningᵀ mixing, where it takes the place of both
};

// K Sᵀ (n, s) of rows X (n, d).
void mixed_kernel(const KernelMap<double>& map, const Mixing& mixing, ConstView<double> X, View<double> out,
                  const Execution& execution);
// U_r D_r^(-1/2) (s, r) of H = S K Sᵀ, from the rows of K Sᵀ at the anchors, (s', s).
Matrix<double> whitening_from(const Mixing& mixing, const Matrix<double>& at_anchors, const Execution& execution);

}  // namespace carmina
