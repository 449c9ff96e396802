// kernels.cpp -- the kernels as Python values. A new one is a few lines in bind_kernels and a name in
// kernels.py.
#include <carmina/features/kernel_map.hpp>
#include <carmina/kernels/kernel.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "running.hpp"
#include "values.hpp"

namespace carmina::python {
namespace {

LengthScale to_length_scale(nb::handle values) {
  const nb::object array = as_array<double>(values);
  const auto dimensions = nb::cast<int>(array.attr("ndim"));
  require(dimensions <= 1, "length_scale must be a number or one number per input dimension, found {} dimensions",
          dimensions);
  if (dimensions == 0) return nb::cast<double>(array.attr("item")());
  return nb::cast<std::vector<double>>(array.attr("tolist")());
}

nb::object to_python(const LengthScale& width) {
  return width.isotropic() ? nb::cast(width.values()[0]) : nb::cast(width.values());
}

nb::list to_lists(const Matrix<double>& values) {
  nb::list rows;
  for (Index i = 0; i < values.rows(); ++i) {
    nb::list row;
    for (Index j = 0; j < values.cols(); ++j) row.append(values(i, j));
    rows.append(row);
  }
  return rows;
}

template <Real T>
Matrix<T> scalar_values(const Kernel& kernel, nb::handle X, nb::handle Z) {
  const Rows<T> x(X, "kernel: X"), z(Z.is_none() ? X : Z, "kernel: Z");
  return run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
    require(x.view().allFinite() && z.view().allFinite(), "kernel: an input is NaN or infinite");
    return kernel_matrix<T>(scalar_part(kernel), x.view(), z.view(), execution);
  });
}

// k(x_i, z_j) A_ab at [i, j, a, b].
template <Real T>
Array<T> times_output_matrix(const Matrix<T>& K, const Matrix<double>& A) {
  const auto n = static_cast<std::size_t>(K.rows()), m = static_cast<std::size_t>(K.cols());
  const auto p = static_cast<std::size_t>(A.rows());
  NewArray<T> out({n, m, p, p});
  const Matrix<T> factor = A.template cast<T>();
  const Eigen::Map<const Vector<T>> values(K.data(), K.size()), entries(factor.data(), factor.size());
  out.view(values.size(), entries.size()).noalias() = values * entries.transpose();
  return out.array;
}

// k(X, Z): (n, m), or (n, m, p, p) when operator-valued.
template <class K>
void def_call(nb::class_<K>& type) {
  type.def(
      "__call__",
      [](const K& kernel, nb::handle X, nb::handle Z) {
        return in_precision_of(X, [&](auto precision) -> nb::object {
          using T = decltype(precision);
          Matrix<T> values = scalar_values<T>(kernel, X, Z);
          if constexpr (std::same_as<K, Decomposable>) {
            return nb::cast(times_output_matrix(values, kernel.A));
          } else {
            return nb::cast(to_numpy(std::move(values)));
          }
        });
      },
      nb::arg("X"), nb::arg("Z") = nb::none(),
      nb::sig("def __call__(self, X: numpy.typing.ArrayLike, Z: numpy.typing.ArrayLike | None = None) -> "
              "numpy.typing.NDArray"),
      "Exact values between the rows of X and those of Z (X again when it is None).");
}

}  // namespace

void bind_kernels(nb::module_& m) {
  nb::class_<Gaussian> gaussian(m, "Gaussian", R"(The Gaussian kernel k(x, z) = exp(−‖x − z‖² / (2ℓ²)).

Parameters
----------
length_scale : float or sequence of float
    The width ℓ, or one per input dimension.

Examples
--------
>>> from carmina.kernels import Gaussian
>>> Gaussian(2.0)
Gaussian(length_scale=2.0)
>>> Gaussian([1, 0.5])([[0.0, 0.0]], [[1.0, 0.5]]).round(4)
array([[0.3679]])
)");
  gaussian
      .def(
          "__init__", [](Gaussian* self, nb::handle width) { new (self) Gaussian(to_length_scale(width)); },
          nb::arg("length_scale"),
          nb::sig("def __init__(self, length_scale: float | collections.abc.Sequence[float]) -> None"))
      .def_static("from_gamma", &Gaussian::from_gamma, nb::arg("gamma"), "exp(−γ‖x − z‖²), that is ℓ = 1 / √(2γ).")
      .def_prop_ro(
          "length_scale", [](const Gaussian& k) { return to_python(k.length_scale); },
          nb::sig("def length_scale(self) -> float | list[float]"),
          "ℓ: a number, or a list of one per input dimension.")
      .def_prop_ro("n_outputs", [](const Gaussian&) { return 1; }, "1: each output is fitted on its own.");
  as_value(gaussian, [](const Gaussian& k) {
    nb::dict parameters;
    parameters["length_scale"] = to_python(k.length_scale);
    return parameters;
  });
  def_call(gaussian);

  nb::class_<Decomposable> decomposable(m, "Decomposable", R"(The operator-valued kernel K(x, z) = k(x, z) A.

Parameters
----------
scalar : kernel
    A scalar kernel k.
A : array_like of shape (p, p)
    Symmetric and positive semi-definite: how the p outputs go together. `carmina.outputs` makes some.

Examples
--------
>>> from carmina.kernels import Decomposable, Gaussian
>>> K = Decomposable(Gaussian(1.0), [[1.0, 0.5], [0.5, 1.0]])
>>> K
Decomposable(scalar=Gaussian(length_scale=1.0), A=[[1.0, 0.5], [0.5, 1.0]])
>>> K([[0.0], [1.0], [2.0]]).shape
(3, 3, 2, 2)
)");
  decomposable
      .def(
          "__init__",
          [](Decomposable* self, ScalarKernel scalar, nb::handle A) {
            new (self) Decomposable(std::move(scalar), to_matrix(A, "Decomposable: A"));
          },
          nb::arg("scalar"), nb::arg("A"),
          nb::sig("def __init__(self, scalar: Gaussian, A: numpy.typing.ArrayLike) -> None"))
      .def_prop_ro(
          "scalar", [](const Decomposable& k) { return k.scalar; }, "The scalar kernel k.")
      .def_prop_ro(
          "A", [](const Decomposable& k) { return to_numpy(Matrix<double>(k.A)); }, nb::rv_policy::move,
          "The output matrix, a copy.")
      .def_prop_ro(
          "root", [](const Decomposable& k) { return to_numpy(factor_output_matrix(k.A).root()); }, nb::rv_policy::move,
          "B (p, rank) with A = B Bᵀ: the eigenvectors of A that count, times the roots of their "
          "eigenvalues.")
      .def_prop_ro("n_outputs", [](const Decomposable& k) { return k.A.rows(); }, "p, the order of A.");
  as_value(decomposable, [](const Decomposable& k) {
    nb::dict parameters;
    parameters["scalar"] = nb::cast(k.scalar);
    parameters["A"] = to_lists(k.A);
    return parameters;
  });
  def_call(decomposable);

  m.def(
      "make_kernel",
      [](const std::string& name, double length_scale) { return make_scalar_kernel(name, length_scale); },
      nb::arg("name"), nb::arg("length_scale"), "The scalar kernel of that name.");
}

}  // namespace carmina::python
