// core/matrix.hpp -- matrices and borrowed views. Row = sample, row-major, everywhere.
#pragma once
#include <carmina/core/eigen_resize.hpp>
#include <concepts>

namespace carmina {

using Index = Eigen::Index;

template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// Borrowed (rows, columns) with unit stride along a row and any stride between rows: no copy is made of a row-major
// matrix, of a block of its rows, or of a C-ordered NumPy array.
template <class T>
using View = Eigen::Ref<Matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstView = Eigen::Ref<const Matrix<T>, 0, Eigen::OuterStride<>>;

// Wraps foreign memory, for instance a NumPy buffer, as a view's argument.
template <class T>
auto map_rows(T* data, Index rows, Index columns) {
  using Plain = std::conditional_t<std::is_const_v<T>, const Matrix<std::remove_const_t<T>>, Matrix<T>>;
  return Eigen::Map<Plain, 0, Eigen::OuterStride<>>(data, rows, columns, Eigen::OuterStride<>(columns));
}

}  // namespace carmina
