// products.cpp -- products of kernels and kernels of some of the inputs as Python values.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "kernel_values.hpp"

namespace carmina::python {
namespace {

std::string text_of(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

// A factor of a term alone; the first of a vector field couples the outputs.
nb::object factor_object(const Term& term, std::size_t f) {
  const Product::Factor factor = factors_of(term.scalar)[f];
  const bool field = f == 0 && is_differential(term.coupling);
  const ScalarKernel scalar = factor.columns.all() ? factor.kernel : on_columns(factor.kernel, factor.columns);
  return to_python(Kernel(own_term(scalar, field ? term.coupling : OutputCoupling(Independent{}))));
}

nb::list factor_objects(const Kernel& kernel) {
  nb::list factors;
  const Term& term = kernel.terms()[0];
  for (std::size_t f = 0; f < factors_of(term.scalar).size(); ++f) factors.append(factor_object(term, f));
  return factors;
}

// The kernel of all inputs that stands behind one of some.
nb::object without_columns(const Kernel& kernel) {
  const Term& term = kernel.terms()[0];
  return to_python(Kernel(own_term(factors_of(term.scalar)[0].kernel, term.coupling)));
}

InputColumns columns_of(const Kernel& kernel) { return factors_of(kernel.terms()[0].scalar)[0].columns; }

Kernel product_of(const nb::list& kernels) {
  require(nb::len(kernels) > 0, "Product: there are no kernels");
  Kernel product = nb::cast<const Kernel&>(kernels[0]);
  for (std::size_t i = 1; i < nb::len(kernels); ++i) product = product * nb::cast<const Kernel&>(kernels[i]);
  return product;
}

}  // namespace

nb::object to_python(const InputColumns& columns) {
  return columns.names.empty() ? nb::cast(columns.numbers) : nb::cast(columns.names);
}

InputColumns to_columns(nb::handle columns) {
  const auto number_of = [](nb::handle one) {
    const nb::object number = nb::steal(PyNumber_Index(one.ptr()));
    if (!number.is_valid()) {
      PyErr_Clear();
      fail("on: columns are numbers or names of inputs, found {}", text_of(one));
    }
    return nb::cast<Index>(number);
  };
  if (nb::isinstance<nb::str>(columns)) return std::vector<std::string>{nb::cast<std::string>(columns)};
  if (PyIndex_Check(columns.ptr())) return std::vector<Index>{number_of(columns)};
  std::vector<Index> numbers;
  std::vector<std::string> names;
  require(nb::isinstance<nb::iterable>(columns), "on: columns are numbers or names of inputs, found {}",
          text_of(columns));
  for (const nb::handle one : columns) {
    if (nb::isinstance<nb::str>(one)) {
      names.push_back(nb::cast<std::string>(one));
    } else {
      numbers.push_back(number_of(one));
    }
  }
  require(numbers.empty() != names.empty(), "on: columns are all numbers or all names, found {}", text_of(columns));
  if (names.empty()) return numbers;
  return names;
}

nb::object product_object(const Kernel& kernel) {
  const std::vector<Product::Factor> factors = factors_of(kernel.terms()[0].scalar);
  if (factors.size() > 1) return nb::cast(ProductOfKernels(kernel));
  return factors[0].columns.all() ? without_columns(kernel) : nb::cast(OnColumns(kernel));
}

void bind_products(nb::module_& m) {
  nb::class_<OnColumns, Kernel>(m, "OnColumns", R"(A kernel of some of the inputs: what `kernel.on(columns)` makes.

A vector field on columns has as many outputs as these are. Names are looked up by a fit, among those of its inputs.

Parameters
----------
scalar : kernel
columns : int, str, or a sequence of one of them

Examples
--------
>>> from carmina.kernels import Gaussian
>>> k = Gaussian(2.0).on([0, 2])
>>> k
Gaussian(length_scale=2.0).on([0, 2])
>>> k([[0.0, 9.0, 0.0]], [[2.0, 0.0, 0.0]]).round(4)
array([[0.6065]])
)")
      .def(
          "__init__",
          [](OnColumns* self, const Kernel& kernel, nb::handle columns) {
            new (self) OnColumns(kernel.on(to_columns(columns)));
          },
          nb::arg("scalar"), nb::arg("columns"),
          nb::sig("def __init__(self, scalar: Kernel, columns: int | str | collections.abc.Sequence[int] | "
                  "collections.abc.Sequence[str]) -> None"))
      .def("__repr__",
           [](const OnColumns& k) {
             return text_of(without_columns(k)) + ".on(" + text_of(to_python(columns_of(k))) + ")";
           })
      .def_prop_ro(
          "scalar", [](const OnColumns& k) { return without_columns(k); }, nb::sig("def scalar(self) -> Kernel"),
          "The kernel of all inputs.")
      .def_prop_ro(
          "columns", [](const OnColumns& k) { return to_python(columns_of(k)); },
          nb::sig("def columns(self) -> list[int] | list[str]"), "The inputs that it is of.")
      .def_prop_ro("_parameters", [](const OnColumns& k) {
        nb::dict parameters;
        parameters["scalar"] = without_columns(k);
        parameters["columns"] = to_python(columns_of(k));
        return parameters;
      });

  nb::class_<ProductOfKernels, Kernel>(m, "Product", R"(Π_f k_f(x, z): what `k1 * k2` makes.

Each factor is of all inputs, or of some by `on`. One of them may be `CurlFree` or `DivergenceFree`: a vector field that
the others multiply, for instance a field of place that changes in time. A product of a sum is the sum of products.

Fourier features draw a frequency of each factor: for different columns side by side, for the same ones added.

Parameters
----------
kernels : list of kernel

Examples
--------
>>> from carmina.kernels import CurlFree, Gaussian, Periodic
>>> K = CurlFree(Gaussian(1.0)).on([0, 1]) * Gaussian(5.0).on(2)
>>> K
CurlFree(scalar=Gaussian(length_scale=1.0)).on([0, 1]) * Gaussian(length_scale=5.0).on([2])
>>> K.n_outputs
2
>>> K([[0.0, 0.0, 0.0]], [[0.0, 0.0, 5.0]]).round(4)
array([[[[0.6065, 0.    ],
         [0.    , 0.6065]]]])
)")
      .def(
          "__init__",
          [](ProductOfKernels* self, const nb::list& kernels) { new (self) ProductOfKernels(product_of(kernels)); },
          nb::arg("kernels"), nb::sig("def __init__(self, kernels: list[Kernel]) -> None"))
      .def("__repr__",
           [](const ProductOfKernels& k) {
             std::string text;
             for (const nb::handle factor : factor_objects(k)) text += (text.empty() ? "" : " * ") + text_of(factor);
             return text;
           })
      .def_prop_ro(
          "kernels", [](const ProductOfKernels& k) { return factor_objects(k); },
          nb::sig("def kernels(self) -> list[Kernel]"), "The factors.")
      .def_prop_ro("_parameters", [](const ProductOfKernels& k) {
        nb::dict parameters;
        parameters["kernels"] = factor_objects(k);
        return parameters;
      });
}

}  // namespace carmina::python
