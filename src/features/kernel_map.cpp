// features/kernel_map.cpp -- squared distances by a matrix product, then the kernel's profile, over a tile.
#include <carmina/backends/blas.hpp>
#include <carmina/core/error.hpp>
#include <carmina/features/kernel_map.hpp>
#include <carmina/features/map_operations.hpp>

#include <algorithm>

namespace carmina {

template <Real T>
KernelMap<T>::KernelMap(ScalarKernel kernel, Matrix<T> anchors, InputTransform transform)
    : kernel_(std::move(kernel)), anchors_(std::move(anchors)), transform_(std::move(transform)) {
  const Index d = anchors_.cols();
  require(anchors_.rows() > 0 && d > 0, "KernelMap: anchors are empty ({} x {})", anchors_.rows(), d);
  const LengthScale& width = length_scale(kernel_);
  width.check_dimension(kernel_name(kernel_), d);
  reciprocal_width_ = Vector<double>::NullaryExpr(d, [&](Index j) { return 1 / width[j]; });
  scaled_.resize(anchors_.rows(), d);
  transform_.apply(anchors_.data(), d, anchors_.rows(), d, scaled_.data());
  // Distances do not move with the origin; taking it among the anchors keeps |x|^2 + |z|^2 - 2<x, z> from cancelling.
  centre_ = scaled_.template cast<double>().colwise().mean();
  scale_and_centre(scaled_.data(), anchors_.rows());
  scaled_norms_.resize(anchors_.rows());
  fill_norms(scaled_.data(), anchors_.rows(), scaled_norms_.data());
}

template <Real T>
void KernelMap<T>::scale_and_centre(T* x, Index rows) const {
  for (Index i = 0; i < rows; ++i, x += dim_in()) {
    for (Index j = 0; j < dim_in(); ++j)
      x[j] = static_cast<T>((static_cast<double>(x[j]) - centre_[j]) * reciprocal_width_[j]);
  }
}

template <Real T>
void KernelMap<T>::fill_norms(const T* x, Index rows, T* norms) const {
  for (Index i = 0; i < rows; ++i) norms[i] = Eigen::Map<const Vector<T>>(x + i * dim_in(), dim_in()).squaredNorm();
}

template <Real T>
typename KernelMap<T>::Prepared KernelMap<T>::prepare(const T* X, Index ldx, Index rows, T* scratch) const {
  T* norms = scratch + rows * dim_in();
  transform_.apply(X, ldx, rows, dim_in(), scratch);
  scale_and_centre(scratch, rows);
  fill_norms(scratch, rows, norms);
  return {scratch, norms, rows};
}

template <Real T>
void KernelMap<T>::tile(const Prepared& in, Index first, Index count, T* out, Index, Index ldo) const {
  // |x - z|^2 = |x|^2 + |z|^2 - 2<x, z>; rounding may leave it just below zero.
  backend::gemm<T>(backend::Transpose::no, backend::Transpose::yes, in.rows, count, dim_in(), T(-2), in.x, dim_in(),
                   scaled_.row(first).data(), dim_in(), T(0), out, ldo);
  const T* anchor_norms = scaled_norms_.data() + first;
  std::visit(
      [&](const auto& k) {
        for (Index i = 0; i < in.rows; ++i) {
          T* row = out + i * ldo;
          for (Index j = 0; j < count; ++j) row[j] = std::max(T(0), row[j] + in.norms[i] + anchor_norms[j]);
          k.of_squared_distances(row, count);
        }
      },
      kernel_);
}

template class KernelMap<float>;
template class KernelMap<double>;

template <Real T>
Matrix<T> kernel_matrix(const ScalarKernel& kernel, ConstView<T> X, ConstView<T> Z, const Execution& execution) {
  require(X.cols() == Z.cols(), "kernel: X has {} columns, Z has {}", X.cols(), Z.cols());
  Matrix<T> K(X.rows(), Z.rows());
  if (K.size() > 0) evaluate(KernelMap<T>(kernel, Matrix<T>(Z)), X, View<T>(K), execution);
  return K;
}
template Matrix<float> kernel_matrix(const ScalarKernel&, ConstView<float>, ConstView<float>, const Execution&);
template Matrix<double> kernel_matrix(const ScalarKernel&, ConstView<double>, ConstView<double>, const Execution&);

}  // namespace carmina
