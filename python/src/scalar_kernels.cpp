// scalar_kernels.cpp -- the scalar kernels as Python values. A new one is its class here.
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "kernel_values.hpp"

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

template <class K>
using Class = nb::class_<Scalar<K>, Kernel>;

// The class with its width, and the constructor's arguments by name: the width, then what `more` puts in.
template <class K, class More>
Class<K> def_class(nb::module_& m, const char* name, const char* doc, More more) {
  Class<K> type(m, name, doc);
  type.def_prop_ro(
      "length_scale", [](const Scalar<K>& k) { return to_python(k.value().length_scale); },
      nb::sig("def length_scale(self) -> float | list[float]"), "ℓ: a number, or a list of one per input dimension.");
  type.def_prop_ro("_parameters", [more](const Scalar<K>& k) {
    nb::dict parameters;
    parameters["length_scale"] = to_python(k.value().length_scale);
    more(parameters, k.value());
    return parameters;
  });
  return type;
}

// A kernel that has nothing but a width.
template <class K>
Class<K> def_plain_class(nb::module_& m, const char* name, const char* doc) {
  Class<K> type = def_class<K>(m, name, doc, [](nb::dict&, const K&) {});
  type.def(
      "__init__", [](Scalar<K>* self, nb::handle width) { new (self) Scalar<K>(K(to_length_scale(width))); },
      nb::arg("length_scale"),
      nb::sig("def __init__(self, length_scale: float | collections.abc.Sequence[float]) -> None"));
  return type;
}

}  // namespace

nb::object to_python(const ScalarKernel& kernel) {
  return std::visit(
      []<class K>(const K& k) {
        if constexpr (std::same_as<K, Product>)
          return product_object(Kernel(k));
        else
          return nb::cast(Scalar<K>(k));
      },
      kernel);
}

void bind_scalar_kernels(nb::module_& m) {
  def_plain_class<Gaussian>(m, "Gaussian", R"(The Gaussian kernel k(x, z) = exp(−‖x − z‖² / (2ℓ²)).

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
)")
      .def_static(
          "from_gamma", [](double gamma) { return Scalar<Gaussian>(Gaussian::from_gamma(gamma)); }, nb::arg("gamma"),
          "exp(−γ‖x − z‖²), that is ℓ = 1 / √(2γ).");

  def_plain_class<Laplacian>(m, "Laplacian",
                             R"(The Laplacian kernel k(x, z) = exp(−Σ_j |x_j − z_j| / ℓ): rough functions.

Parameters
----------
length_scale : float or sequence of float
    The width ℓ, or one per input dimension.

Examples
--------
>>> from carmina.kernels import Laplacian
>>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
array([[0.3679]])
)");

  def_class<Matern>(m, "Matern", R"(The Matérn kernel 2^(1−ν)/Γ(ν) a^ν K_ν(a), a = √(2ν) ‖x − z‖ / ℓ.

Functions have as many derivatives as the integers below ν: ½ is exp(−‖x − z‖/ℓ), large ν is nearly Gaussian.

Parameters
----------
length_scale : float or sequence of float
    The width ℓ, or one per input dimension.
nu : float, default=1.5
    Smoothness ν, at most 100; ½, 1½ and 2½ are computed fastest.

Examples
--------
>>> from carmina.kernels import Matern
>>> Matern(1.0, nu=0.5)([[0.0]], [[2.0]]).round(4)
array([[0.1353]])
)",
                    [](nb::dict& parameters, const Matern& k) { parameters["nu"] = k.nu; })
      .def(
          "__init__",
          [](Scalar<Matern>* self, nb::handle width, double nu) {
            new (self) Scalar<Matern>(Matern(to_length_scale(width), nu));
          },
          nb::arg("length_scale"), nb::arg("nu") = 1.5,
          nb::sig("def __init__(self, length_scale: float | collections.abc.Sequence[float], nu: float = 1.5) -> None"))
      .def_prop_ro("nu", [](const Scalar<Matern>& k) { return k.value().nu; }, "The smoothness ν.");

  def_plain_class<Cauchy>(m, "Cauchy",
                          R"(The Cauchy kernel k(x, z) = 1 / (1 + ‖x − z‖²/ℓ²): smooth, with far-reaching tails.

Parameters
----------
length_scale : float or sequence of float
    The width ℓ, or one per input dimension.

Examples
--------
>>> from carmina.kernels import Cauchy
>>> Cauchy(1.0)([[0.0]], [[3.0]])
array([[0.1]])
)");

  def_class<RationalQuadratic>(m, "RationalQuadratic",
                               R"(The rational quadratic kernel k(x, z) = (1 + ‖x − z‖² / (2aℓ²))^(−a).

A mixture of Gaussian kernels of many widths; the larger the shape a, the more they are alike.

Parameters
----------
length_scale : float or sequence of float
    The width ℓ, or one per input dimension.
shape : float, default=1.0
    The shape a.

Examples
--------
>>> from carmina.kernels import RationalQuadratic
>>> RationalQuadratic(1.0, shape=2.0)([[0.0]], [[2.0]])
array([[0.25]])
)",
                               [](nb::dict& parameters, const RationalQuadratic& k) { parameters["shape"] = k.shape; })
      .def(
          "__init__",
          [](Scalar<RationalQuadratic>* self, nb::handle width, double shape) {
            new (self) Scalar<RationalQuadratic>(RationalQuadratic(to_length_scale(width), shape));
          },
          nb::arg("length_scale"), nb::arg("shape") = 1.0,
          nb::sig(
              "def __init__(self, length_scale: float | collections.abc.Sequence[float], shape: float = 1.0) -> None"))
      .def_prop_ro("shape", [](const Scalar<RationalQuadratic>& k) { return k.value().shape; }, "The shape a.");

  def_class<Periodic>(m, "Periodic", R"(The periodic kernel k(x, z) = exp(−2 Σ_j sin²(π(x_j − z_j)/T) / ℓ²).

Functions that repeat after a period T. Its spectral measure has lines at the multiples of 2π/T.

Parameters
----------
period : float
    T, in the unit of the inputs.
length_scale : float or sequence of float, default=1.0
    ℓ, or one per input dimension; without a unit: functions are alike over about ℓT/π.

Examples
--------
>>> from carmina.kernels import Periodic
>>> Periodic(24.0, 1.0)([[0.0]], [[24.0], [6.0]]).round(4)
array([[1.    , 0.3679]])
)",
                      [](nb::dict& parameters, const Periodic& k) {
                        parameters.clear();
                        parameters["period"] = k.period;
                        parameters["length_scale"] = to_python(k.length_scale);
                      })
      .def(
          "__init__",
          [](Scalar<Periodic>* self, double period, nb::handle width) {
            new (self) Scalar<Periodic>(Periodic(to_length_scale(width), period));
          },
          nb::arg("period"), nb::arg("length_scale") = 1.0,
          nb::sig("def __init__(self, period: float, length_scale: float | collections.abc.Sequence[float] = 1.0) -> "
                  "None"))
      .def_prop_ro("period", [](const Scalar<Periodic>& k) { return k.value().period; }, "The period T.");
}

}  // namespace carmina::python
