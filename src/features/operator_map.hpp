// features/operator_map.hpp -- exact operator-valued kernels: blocks K(x, z) of p x p numbers against anchor rows.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/data/input_transform.hpp>
#include <carmina/kernels/kernel.hpp>

namespace carmina {

// F(x) = sum_i K(x, z_i) c_i for any kernel, sums and differential ones too. Pairs are evaluated in double.
template <Real T>
class OperatorMap {
 public:
  using Scalar = T;
  OperatorMap(Kernel kernel, Matrix<T> anchors, Index dim_out, InputTransform transform = {});

  Index dim_in() const { return anchors_.cols(); }
  Index dim_out() const { return dim_out_; }
  Index n_features() const { return anchors_.rows(); }  // rows of coefficients (anchors, p)
  const Matrix<T>& anchors() const { return anchors_; }
  const Kernel& kernel() const { return kernel_; }
  const InputTransform& transform() const { return transform_; }

  // out (n, p) = sum_i K(x, z_i) c_i, C (anchors, p)
  void apply(ConstView<T> X, ConstView<T> C, View<T> out, const Execution& execution) const;
  // K over the anchors themselves, (anchors p, anchors p), lower triangle.
  Matrix<double> gram(const Execution& execution) const;
  // Its diagonal, (anchors p).
  Vector<double> diagonal() const;
  // blocks(i, j, a, b) = K(x_i, z_j)_ab, (n, anchors, p, p) row after row.
  void blocks(ConstView<T> X, double* out, const Execution& execution) const;

 private:
  Kernel kernel_;
  Matrix<T> anchors_;
  Matrix<double> points_;  // anchors after the transform
  Index dim_out_;
  InputTransform transform_;
};

}  // namespace carmina
