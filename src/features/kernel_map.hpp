// features/kernel_map.hpp -- kernel values against anchor rows; the exact machine has every training row as an anchor.
#pragma once
#include "backends/vector_math.hpp"

#include <carmina/core/execution.hpp>
#include <carmina/data/input_transform.hpp>
#include <carmina/kernels/scalar_kernel.hpp>

namespace carmina {

// phi(x) = [k(x, z_1), ..., k(x, z_s)]. Its metric, the penalty's matrix, is K(Z, Z): f = sum_i c_i k(., z_i) has
// |f|^2 = cᵀ K(Z, Z) c. A value, immutable.
template <Real T>
class KernelMap {
 public:
  using Scalar = T;
  static constexpr Index parts = 1;

  KernelMap(ScalarKernel kernel, Matrix<T> anchors, InputTransform transform = {});

  Index dim_in() const { return anchors_.cols(); }
  Index units() const { return anchors_.rows(); }
  Index n_features() const { return units(); }
  const Matrix<T>& anchors() const { return anchors_; }  // filled, before the rest of the transform
  const ScalarKernel& kernel() const { return kernel_; }
  const InputTransform& transform() const { return transform_; }

  Index prepared_size(Index rows) const { return rows * (dim_in() + 1); }
  struct Prepared {
    // (rows, d), transformed; for a stationary kernel in units of the length scale, centred in the anchors' midst
    const T* x;
    const T* norms;  // (rows), |x|^2, where distances are squared
    Index rows;
    bool each_alone = false;  // whether a row must not depend on the others, to the bit: products row by row
  };
  Prepared prepare(const T* X, Index ldx, Index rows, T* scratch) const;
  void tile(const Prepared& rows, Index first, Index count, T* out, Index, Index ldo) const {
    values(rows, anchors_from(first, count), panels_, first, out, ldo);
  }
  // The transpose of a tile, (count, rows): a row for each anchor. `turned` comes from turn(rows), which serves all
  // anchors.
  backend::RowPanels<T> turn(const Prepared& rows) const;
  void turned_tile(const Prepared& rows, const backend::RowPanels<T>& turned, Index first, Index count, T* out,
                   Index ldo) const {
    values(anchors_from(first, count), rows, turned, 0, out, ldo);
  }

 private:
  Prepared anchors_from(Index first, Index count) const {
    return {placed_.row(first).data(), placed_norms_.data() + first, count};
  }
  // k of each row of a with each of b, (a.rows, b.rows). Unless `panels` is empty, b is its rows from `first` on.
  void values(const Prepared& a, const Prepared& b, const backend::RowPanels<T>& panels, Index first, T* out,
              Index ldo) const;
  // What the kernel takes of (rows, d), in place.
  void place(T* x, Index rows) const;
  void fill_norms(const T* x, Index rows, T* norms) const;
  void squared_distances(const Prepared& a, const Prepared& b, T* out, Index ldo) const;
  void manhattan_distances(const Prepared& a, const Prepared& b, T* out, Index ldo) const;
  void pass_on_overflow(const Prepared& a, const Prepared& b, T* out, Index ldo) const;

  ScalarKernel kernel_;
  Matrix<T> anchors_, placed_;                // (s, d)
  Vector<T> placed_norms_;                    // (s)
  backend::RowPanels<T> panels_;              // of placed_; empty where distances are not squared or inputs many
  Vector<double> centre_, reciprocal_width_;  // of a stationary kernel
  InputTransform transform_;
};

// Exact values k(x_i, z_j): (n, m).
template <Real T>
Matrix<T> kernel_matrix(const ScalarKernel& kernel, ConstView<T> X, ConstView<T> Z, const Execution& execution = {});

// k(x_i, x_i) of transformed rows: (n); all one for a function of x - z.
template <Real T>
Vector<double> kernel_diagonal(const ScalarKernel& kernel, ConstView<T> X, const InputTransform& transform = {});

}  // namespace carmina
