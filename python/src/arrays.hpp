// arrays.hpp -- NumPy arrays in and out: row-major input of the right type is borrowed, results are handed
// over.
#pragma once
#include <carmina/core/error.hpp>
#include <carmina/core/matrix.hpp>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

#include <nanobind/ndarray.h>

#include "bindings.hpp"

namespace carmina::python {

template <Real T>
using Array = nb::ndarray<nb::numpy, T>;

inline nb::module_ numpy() { return nb::module_::import_("numpy"); }

template <Real T>
constexpr const char* dtype_name = std::same_as<T, float> ? "float32" : "float64";

// `values` as an array of T: itself when it is one, aligned and of this machine's byte order; else converted.
template <Real T>
nb::object as_array(nb::handle values) {
  return numpy().attr("require")(values, dtype_name<T>, "A");
}

// Float input is computed in float, anything else in double.
inline bool is_float32(nb::handle values) {
  return nb::hasattr(values, "dtype") && values.attr("dtype").equal(numpy().attr("dtype")("float32"));
}

// Calls f(T()) in the precision of `values`.
template <class F>
auto in_precision_of(nb::handle values, F&& f) {
  if (is_float32(values)) return f(float());
  return f(double());
}

// Rows of a two-dimensional array; kept alive by this object. The interpreter lock is not needed to read
// them.
template <Real T>
class Rows {
 public:
  Rows(nb::handle values, const char* name) {
    nb::object array = as_array<T>(values);
    const auto dimensions = nb::cast<int>(array.attr("ndim"));
    require(dimensions == 2, "{} must be two-dimensional (rows, columns), found {} dimension{}", name, dimensions,
            dimensions == 1 ? "" : "s");
    array_ = nb::cast<Borrowed>(array);
    if (!row_major()) array_ = nb::cast<Borrowed>(numpy().attr("ascontiguousarray")(array));
  }

  Index rows() const { return static_cast<Index>(array_.shape(0)); }
  Index columns() const { return static_cast<Index>(array_.shape(1)); }
  auto view() const {
    return Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>(array_.data(), rows(), columns(),
                                                                Eigen::OuterStride<>(stride()));
  }

 private:
  using Borrowed = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

  Index stride() const { return rows() > 1 ? static_cast<Index>(array_.stride(0)) : columns(); }
  bool row_major() const { return (columns() <= 1 || array_.stride(1) == 1) && stride() >= columns(); }

  Borrowed array_;
};

// A matrix of doubles from anything that NumPy takes for one: lists, integers.
inline Matrix<double> to_matrix(nb::handle values, const char* name) { return Rows<double>(values, name).view(); }

// A new array, its memory, and the same as rows of its last axis.
template <Real T>
struct NewArray {
  T* data;
  Array<T> array;

  explicit NewArray(std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (const std::size_t length : shape) size *= length;
    // At the start of a line, so that whole lines can be written by non-temporal stores.
    constexpr std::align_val_t line{64};
    constexpr auto give_back = [](void* p) noexcept { ::operator delete(p, line); };
    std::unique_ptr<void, decltype(give_back)> memory(::operator new(size * sizeof(T), line));
    data = static_cast<T*>(memory.get());
    nb::capsule owner(data, give_back);
    memory.release();
    array = Array<T>(data, shape, owner);
  }
  auto view(Index rows, Index columns) { return map_rows(data, rows, columns); }
};

// Hands a matrix over without a copy.
template <Real T>
Array<T> to_numpy(Matrix<T>&& values) {
  auto kept = std::make_unique<Matrix<T>>(std::move(values));
  const auto rows = static_cast<std::size_t>(kept->rows()), columns = static_cast<std::size_t>(kept->cols());
  T* const data = kept->data();
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<Matrix<T>*>(p); });
  kept.release();
  return Array<T>(data, {rows, columns}, owner);
}

template <Real T>
Array<T> to_numpy(const Vector<T>& values) {
  NewArray<T> result({static_cast<std::size_t>(values.size())});
  std::copy_n(values.data(), values.size(), result.data);
  return result.array;
}

}  // namespace carmina::python
