// features/kernel_map.cpp -- distances, then the kernel's profile, over a tile; or values of pairs of rows.
#include "features/kernel_map.hpp"
#include "features/map_operations.hpp"
#include "features/tile_products.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace carmina {
namespace {

// The means of the columns, of what lies within 16 median deviations of the median: one row that lies far from the
// others does not move them. Medians are those of some of the rows.
template <Real T>
Vector<double> middle_of(const Matrix<T>& rows) {
  constexpr double near = 16;
  const Index count = std::min<Index>(rows.rows(), 512);
  std::vector<double> some(static_cast<std::size_t>(count));
  const auto median = [&some] {
    const auto half = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
    std::nth_element(some.begin(), half, some.end());
    return *half;
  };
  Vector<double> middle(rows.cols());
  for (Index j = 0; j < rows.cols(); ++j) {
    for (Index i = 0; i < count; ++i) {
      some[static_cast<std::size_t>(i)] = static_cast<double>(rows(i * rows.rows() / count, j));
    }
    const double centre = median();
    for (double& value : some) value = std::abs(value - centre);
    const double reach = near * median();
    double sum = 0, held = 0;
    for (Index i = 0; i < rows.rows(); ++i) {
      const auto value = static_cast<double>(rows(i, j));
      if (std::abs(value - centre) <= reach) sum += value, ++held;
    }
    middle[j] = held > 0 ? sum / held : centre;
  }
  return middle;
}

}  // namespace

template <Real T>
KernelMap<T>::KernelMap(ScalarKernel kernel, Matrix<T> anchors, InputTransform transform)
    : kernel_(std::move(kernel)), anchors_(std::move(anchors)), transform_(std::move(transform)) {
  const Index d = anchors_.cols();
  require(anchors_.rows() > 0 && d > 0, "KernelMap: anchors are empty ({} x {})", anchors_.rows(), d);
  check_dimension(kernel_, d);
  transform_.fill_missing(anchors_);
  placed_.resize(anchors_.rows(), d);
  transform_.apply(anchors_.data(), d, anchors_.rows(), d, placed_.data());
  if (is_stationary(kernel_)) {
    const LengthScale& width = length_scale(kernel_);
    reciprocal_width_ = Vector<double>::NullaryExpr(d, [&](Index j) { return 1 / width[j]; });
    require(reciprocal_width_.allFinite(), "the {} kernel: a length_scale is too small to divide by",
            kernel_name(kernel_));
    // Distances do not move with the origin; taking it among the anchors keeps |x|^2 + |z|^2 - 2<x, z> from cancelling.
    centre_ = middle_of(placed_);
  }
  place(placed_.data(), anchors_.rows());
  placed_norms_.resize(anchors_.rows());
  fill_norms(placed_.data(), anchors_.rows(), placed_norms_.data());
  panels_ = turn(anchors_from(0, anchors_.rows()));
}

template <Real T>
backend::RowPanels<T> KernelMap<T>::turn(const Prepared& rows) const {
  const bool squared = std::visit(
      []<class K>(const K&) {
        if constexpr (Pairwise<K>) {
          return false;
        } else {
          return K::distance == Distance::squared;
        }
      },
      kernel_);
  if (!squared || dim_in() > backend::RowPanels<T>::longest) return {};
  return {rows.x, rows.rows, dim_in()};
}

template <Real T>
void KernelMap<T>::place(T* x, Index rows) const {
  if (!is_stationary(kernel_)) return check_inputs(kernel_, x, rows * dim_in());
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
  place(scratch, rows);
  fill_norms(scratch, rows, norms);
  return {scratch, norms, rows};
}

template <Real T>
void KernelMap<T>::values(const Prepared& a, const Prepared& b, const backend::RowPanels<T>& panels, Index first,
                          T* out, Index ldo) const {
  std::visit(
      [&]<class K>(const K& k) {
        if constexpr (Pairwise<K>) {
          k.values(a.x, a.rows, b.x, b.rows, dim_in(), out, ldo);
        } else {
          if (!panels.empty()) {
            panels.squared_distances(a.x, dim_in(), a.norms, a.rows, first, b.rows, out, ldo);
          } else if constexpr (K::distance == Distance::squared) {
            squared_distances(a, b, out, ldo);
          } else {
            manhattan_distances(a, b, out, ldo);
          }
          if constexpr (K::distance == Distance::squared) pass_on_overflow(a, b, out, ldo);
          for (Index i = 0; i < a.rows; ++i) k.of_distances(out + i * ldo, b.rows);
        }
      },
      kernel_);
}

template <Real T>
void KernelMap<T>::squared_distances(const Prepared& a, const Prepared& b, T* out, Index ldo) const {
  // |x - z|^2 = |x|^2 + |z|^2 - 2<x, z>; rounding may leave it just below zero.
  product_with_rows(a.each_alone, a.x, dim_in(), a.rows, dim_in(), b.x, dim_in(), b.rows, T(-2), out, ldo);
  for (Index i = 0; i < a.rows; ++i) {
    T* row = out + i * ldo;
    for (Index j = 0; j < b.rows; ++j) row[j] = std::max(T(0), row[j] + a.norms[i] + b.norms[j]);
  }
}

// Rows whose squares are not finite have no distance: the largest of 0 and NaN is 0 for a processor.
template <Real T>
void KernelMap<T>::pass_on_overflow(const Prepared& a, const Prepared& b, T* out, Index ldo) const {
  constexpr T none = std::numeric_limits<T>::quiet_NaN();
  for (Index i = 0; i < a.rows; ++i) {
    if (!std::isfinite(a.norms[i])) std::fill_n(out + i * ldo, b.rows, none);
  }
  for (Index j = 0; j < b.rows; ++j) {
    for (Index i = 0; !std::isfinite(b.norms[j]) && i < a.rows; ++i) out[i * ldo + j] = none;
  }
}

template <Real T>
void KernelMap<T>::manhattan_distances(const Prepared& a, const Prepared& b, T* out, Index ldo) const {
  const Index d = dim_in();
  for (Index i = 0; i < a.rows; ++i) {
    const Eigen::Map<const Vector<T>> x(a.x + i * d, d);
    for (Index j = 0; j < b.rows; ++j) {
      out[i * ldo + j] = (x - Eigen::Map<const Vector<T>>(b.x + j * d, d)).template lpNorm<1>();
    }
  }
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

template <Real T>
Vector<double> kernel_diagonal(const ScalarKernel& kernel, ConstView<T> X, const InputTransform& transform) {
  if (has_spectral_measure(kernel)) return Vector<double>::Ones(X.rows());
  // Squares of a few rows: a function of the user's is called seldom.
  constexpr Index rows_at_once = 32;
  Vector<double> diagonal(X.rows());
  std::vector<T> scratch;
  for (Index first = 0; first < X.rows(); first += rows_at_once) {
    const Index count = std::min(rows_at_once, X.rows() - first);
    const KernelMap<T> map(kernel, X.middleRows(first, count), transform);
    scratch.resize(static_cast<std::size_t>(map.prepared_size(count)));
    const auto in = map.prepare(map.anchors().data(), X.cols(), count, scratch.data());
    Matrix<T> K(count, count);
    map.tile(in, 0, count, K.data(), count, count);
    diagonal.segment(first, count) = K.diagonal().template cast<double>();
  }
  return diagonal;
}
template Vector<double> kernel_diagonal(const ScalarKernel&, ConstView<float>, const InputTransform&);
template Vector<double> kernel_diagonal(const ScalarKernel&, ConstView<double>, const InputTransform&);

}  // namespace carmina
