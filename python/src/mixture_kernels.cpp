// mixture_kernels.cpp -- spectral mixtures as Python values.
#include "models/mixture/empirical_spectrum.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interpreter_lock.hpp"
#include "kernel_values.hpp"

namespace carmina::python {
namespace {

using K = Scalar<SpectralMixture>;

Vector<double> to_numbers(nb::handle values, const char* name) {
  const nb::object array = as_array<double>(values);
  const auto dimensions = nb::cast<int>(array.attr("ndim"));
  require(dimensions == 1, "{} must be one-dimensional, found {} dimensions", name, dimensions);
  const auto numbers = nb::cast<std::vector<double>>(array.attr("tolist")());
  return Eigen::Map<const Vector<double>>(numbers.data(), static_cast<Index>(numbers.size()));
}

// (Q, d), or (Q) for one input.
Matrix<double> to_components(nb::handle values, const char* name) {
  nb::object array = as_array<double>(values);
  if (nb::cast<int>(array.attr("ndim")) == 1) array = array.attr("reshape")(-1, 1);
  return to_matrix(array, name);
}

const Mixture& mixture_of(const K& k) { return k.value().mixture(); }

}  // namespace

void bind_mixture_kernels(nb::module_& m) {
  m.def(
      "periodogram",
      [](nb::handle x, nb::handle y) {
        const Vector<double> places = to_numbers(x, "periodogram: x"), values = to_numbers(y, "periodogram: y");
        const Periodogram found = [&] {
          const Unlocked unlocked;
          return periodogram(places, values);
        }();
        return nb::make_tuple(to_numpy(found.frequencies), to_numpy(found.power), found.resolution);
      },
      nb::arg("x"), nb::arg("y"), "Frequencies in cycles, power in units of variance, and the resolution.");
  nb::class_<K, Kernel>(m, "SpectralMixture",
                        R"(The spectral mixture kernel k(δ) = Σ_q w_q cos(2π⟨μ_q, δ⟩) Π_j χ(2πσ_qj δ_j), δ = x − z.

Its spectral measure is a weighted sum of distributions with means μ_q and scales σ_q, in cycles per unit of the input:
functions that repeat and can be continued beyond the data. `SpectralMixtureRegressor` learns it from data.

Parameters
----------
weights : array_like of shape (Q,)
    w_q, positive. Their sum is k(0), the variance of the functions.
means : array_like of shape (Q, d), or (Q,) for one input
    Frequencies μ_q in cycles.
scales : array_like of shape (Q, d), or (Q,) for one input
    Widths σ_q of the distributions, positive: a component is alike over distances of 1 / (2πσ).
family : "gaussian" or "laplace", default="gaussian"
    The distributions: normal ones, χ(t) = exp(−t²/2), or Laplace's, χ(t) = 1 / (1 + t²).

Examples
--------
>>> from carmina.kernels import SpectralMixture
>>> k = SpectralMixture([2.0, 1.0], [0.5, 3.0], [0.01, 0.1])
>>> k
SpectralMixture(weights=[2.0, 1.0], means=[[0.5], [3.0]], scales=[[0.01], [0.1]], family='gaussian')
>>> k([[0.0]], [[0.0], [1.0]]).round(4)
array([[ 3.    , -1.1752]])
)")
      .def(
          "__init__",
          [](K* self, nb::handle weights, nb::handle means, nb::handle scales, const std::string& family) {
            new (self) K(SpectralMixture(to_numbers(weights, "SpectralMixture: weights"),
                                         to_components(means, "SpectralMixture: means"),
                                         to_components(scales, "SpectralMixture: scales"), family));
          },
          nb::arg("weights"), nb::arg("means"), nb::arg("scales"), nb::arg("family") = GaussianFamily::name,
          nb::sig("def __init__(self, weights: numpy.typing.ArrayLike, means: numpy.typing.ArrayLike, scales: "
                  "numpy.typing.ArrayLike, family: str = 'gaussian') -> None"))
      .def_prop_ro(
          "weights", [](const K& k) { return to_numpy(mixture_of(k).weights); }, nb::rv_policy::move, "w (Q,), a copy.")
      .def_prop_ro(
          "means", [](const K& k) { return to_numpy(Matrix<double>(mixture_of(k).means)); }, nb::rv_policy::move,
          "μ (Q, d), a copy.")
      .def_prop_ro(
          "scales", [](const K& k) { return to_numpy(Matrix<double>(mixture_of(k).scales)); }, nb::rv_policy::move,
          "σ (Q, d), a copy.")
      .def_prop_ro(
          "family", [](const K& k) { return family_name(mixture_of(k).family); }, "The distributions' name.")
      .def_prop_ro("_parameters", [](nb::handle self) {
        nb::dict parameters;
        for (const char* name : {"weights", "means", "scales"}) parameters[name] = self.attr(name).attr("tolist")();
        parameters["family"] = self.attr("family");
        return parameters;
      });
}

}  // namespace carmina::python
