// operator_kernels.cpp -- the operator-valued kernels and sums as Python values.
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "kernel_values.hpp"

namespace carmina::python {
namespace {

nb::list to_lists(const Matrix<double>& values) {
  nb::list rows;
  for (Index i = 0; i < values.rows(); ++i) {
    nb::list row;
    for (Index j = 0; j < values.cols(); ++j) row.append(values(i, j));
    rows.append(row);
  }
  return rows;
}

const Matrix<double>& matrix_of(const Kernel& kernel) { return std::get<OutputMatrix>(kernel.terms()[0].coupling).A(); }

// What the term is multiplied by.
double multiple(const Term& term) { return term.weight / own_weight(term.scalar); }

// The scalar kernel that an operator-valued one stands on.
const ScalarKernel& scalar_of(const Kernel& kernel, const char* owner) {
  const Term& term = kernel.terms()[0];
  require(kernel.terms().size() == 1 && multiple(term) == 1 && std::holds_alternative<Independent>(term.coupling),
          "{}: scalar must be one scalar kernel, found {}; sums and multiples go around it", owner,
          nb::cast<std::string>(nb::repr(to_python(kernel))));
  return term.scalar;
}

template <class K>
void def_scalar(nb::class_<K, Kernel>& type) {
  type.def_prop_ro(
      "scalar", [](const K& k) { return to_python(k.terms()[0].scalar); }, nb::sig("def scalar(self) -> Kernel"),
      "The scalar kernel k.");
}

template <class K>
void def_differential(nb::module_& m, const char* name, const char* doc) {
  nb::class_<K, Kernel> type(m, name, doc);
  // A name is a kernel without a width, which a fit finds.
  type.def(nb::new_([name](const std::variant<std::string, Kernel>& scalar, bool bounded, bool normalized) {
             if (const auto* kernel = std::get_if<Kernel>(&scalar)) {
               return to_python(K(scalar_of(*kernel, name), bounded, normalized));
             }
             return nb::module_::import_("carmina._field_by_name")
                 .attr("FieldByName")(name, std::get<std::string>(scalar), bounded, normalized);
           }),
           nb::arg("scalar"), nb::arg("bounded") = false, nb::arg("normalized") = false);
  def_scalar(type);
  type.def_prop_ro(
      "bounded", [](const K& k) { return has_bounded_features(k.terms()[0].coupling); },
      "Whether its features are bounded.");
  type.def_prop_ro(
      "normalized", [](const K& k) { return is_normalized(k.terms()[0].coupling); },
      "Whether tr K(x, x) is the number of outputs.");
  type.def("__repr__", [name](const K& k) {
    const OutputCoupling& coupling = k.terms()[0].coupling;
    return std::string(name) + "(scalar=" + nb::cast<std::string>(nb::repr(to_python(k.terms()[0].scalar))) +
           (has_bounded_features(coupling) ? ", bounded=True" : "") +
           (is_normalized(coupling) ? ", normalized=True" : "") + ")";
  });
  type.def_prop_ro("_parameters", [](const K& k) {
    nb::dict parameters;
    const OutputCoupling& coupling = k.terms()[0].coupling;
    parameters["scalar"] = to_python(k.terms()[0].scalar);
    // Values alone are passed on by pickle, in the order of the arguments.
    if (has_bounded_features(coupling) || is_normalized(coupling))
      parameters["bounded"] = has_bounded_features(coupling);
    if (is_normalized(coupling)) parameters["normalized"] = true;
    return parameters;
  });
}

void def_decomposable(nb::module_& m) {
  nb::class_<Decomposable, Kernel> type(m, "Decomposable", R"(The operator-valued kernel K(x, z) = k(x, z) A.

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
  type.def(
          "__init__",
          [](Decomposable* self, const Kernel& scalar, nb::handle A) {
            new (self) Decomposable(scalar_of(scalar, "Decomposable"), to_matrix(A, "Decomposable: A"));
          },
          nb::arg("scalar"), nb::arg("A"),
          nb::sig("def __init__(self, scalar: Kernel, A: numpy.typing.ArrayLike) -> None"))
      .def_prop_ro(
          "A", [](const Decomposable& k) { return to_numpy(Matrix<double>(matrix_of(k))); }, nb::rv_policy::move,
          "The output matrix, a copy.")
      .def_prop_ro(
          "root", [](const Decomposable& k) { return to_numpy(factor_output_matrix(matrix_of(k)).root()); },
          nb::rv_policy::move,
          "B (p, rank) with A = B Bᵀ: the eigenvectors of A that count, times the roots of their eigenvalues.")
      .def_prop_ro("_parameters", [](const Decomposable& k) {
        nb::dict parameters;
        parameters["scalar"] = to_python(k.terms()[0].scalar);
        parameters["A"] = to_lists(matrix_of(k));
        return parameters;
      });
  def_scalar(type);
}

Kernel weighted_sum(const std::vector<double>& weights, const nb::list& kernels) {
  require(weights.size() == kernels.size(), "Sum: {} weights for {} kernels", weights.size(), kernels.size());
  std::vector<Term> terms;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Kernel weighted = weights[i] * nb::cast<const Kernel&>(kernels[i]);
    terms.insert(terms.end(), weighted.terms().begin(), weighted.terms().end());
  }
  return Kernel(std::move(terms));
}

// 0.3 * CurlFree(...) + DivergenceFree(...)
std::string text_of(const Sum& sum) {
  std::string text;
  for (const Term& term : sum.terms()) {
    if (!text.empty()) text += " + ";
    if (multiple(term) != 1) text += nb::cast<std::string>(nb::repr(nb::cast(multiple(term)))) + " * ";
    text += nb::cast<std::string>(nb::repr(unweighted(term)));
  }
  return text;
}

void def_sum(nb::module_& m) {
  nb::class_<Sum, Kernel>(m, "Sum", R"(Σ_i weight_i K_i: what `k1 + k2` and `0.3 * k` make.

Scalar kernels beside operator-valued ones stand for k(x, z) I. A Fourier map of a sum has `n_components` for each term,
and `KernelRegressor.predict_parts` predicts with each term alone.

Parameters
----------
weights : sequence of float
    Positive.
kernels : list of kernel

Examples
--------
>>> from carmina.kernels import CurlFree, DivergenceFree, Gaussian
>>> K = 0.3 * CurlFree(Gaussian(1.0)) + DivergenceFree(Gaussian(2.0))
>>> K
0.3 * CurlFree(scalar=Gaussian(length_scale=1.0)) + DivergenceFree(scalar=Gaussian(length_scale=2.0))
>>> K.terms[0]
0.3 * CurlFree(scalar=Gaussian(length_scale=1.0))
>>> K([[0.0, 0.0]]).round(4)
array([[[[0.55, 0.  ],
         [0.  , 0.55]]]])
)")
      .def(
          "__init__",
          [](Sum* self, const std::vector<double>& weights, const nb::list& kernels) {
            new (self) Sum(weighted_sum(weights, kernels));
          },
          nb::arg("weights"), nb::arg("kernels"),
          nb::sig("def __init__(self, weights: collections.abc.Sequence[float], kernels: list[Kernel]) -> None"))
      .def("__repr__", &text_of)
      .def_prop_ro(
          "weights",
          [](const Sum& sum) {
            std::vector<double> weights;
            for (const Term& term : sum.terms()) weights.push_back(multiple(term));
            return weights;
          },
          "One for each term.")
      .def_prop_ro(
          "kernels",
          [](const Sum& sum) {
            nb::list kernels;
            for (const Term& term : sum.terms()) kernels.append(unweighted(term));
            return kernels;
          },
          nb::sig("def kernels(self) -> list[Kernel]"), "The terms without their weights.")
      .def_prop_ro("_parameters", [](nb::handle self) {
        nb::dict parameters;
        parameters["weights"] = self.attr("weights");
        parameters["kernels"] = self.attr("kernels");
        return parameters;
      });
}

}  // namespace

nb::object unweighted(const Term& term) {
  if (const auto* matrix = std::get_if<OutputMatrix>(&term.coupling)) {
    return nb::cast(Decomposable(term.scalar, matrix->A()));
  }
  if (is_differential(term.coupling) && std::holds_alternative<Product>(term.scalar)) {
    return product_object(Kernel(own_term(term.scalar, term.coupling)));
  }
  if (const auto* curl = std::get_if<CurlFreeCoupling>(&term.coupling)) {
    return nb::cast(CurlFree(term.scalar, curl->bounded, curl->normalized));
  }
  if (const auto* divergence = std::get_if<DivergenceFreeCoupling>(&term.coupling)) {
    return nb::cast(DivergenceFree(term.scalar, divergence->bounded, divergence->normalized));
  }
  if (const auto* spectrum = std::get_if<UserSpectrum>(&term.coupling)) return to_python(*spectrum);
  return to_python(term.scalar);
}

void bind_operator_kernels(nb::module_& m) {
  def_decomposable(m);
  def_differential<CurlFree>(m, "CurlFree", R"(Vector fields that are gradients: as many outputs as inputs.

K(x, z) = −∇∇ᵀk(δ) at δ = x − z, so every function of its space is the gradient of a potential and has no curl.

Parameters
----------
scalar : kernel or str
    A scalar kernel k with two derivatives: not `Laplacian`, nor `Matern` with ν ≤ 1. A name is for estimators, whose
    `gamma` is then its width, chosen by the data unless it is a number; it has no sums and no values.
bounded : bool, default=False
    The same kernel with other Fourier features, over `Gaussian` only: frequencies are drawn in proportion to their
    squared length and the features are bounded. In d dimensions (d − 1) / (d + 1) of the variance at distance 0 is left.
normalized : bool, default=False
    The kernel times a number, so that tr K(x, x) = p: functions have unit mean variance per component in any unit of
    length. Without it a curl-free kernel is as large as 1 / ℓ².

Examples
--------
>>> from carmina.kernels import CurlFree, Gaussian
>>> CurlFree(Gaussian(0.5))([[0.0, 0.0]], [[0.5, 0.0]]).round(4)
array([[[[0.    , 0.    ],
         [0.    , 2.4261]]]])
)");
  def_differential<DivergenceFree>(m, "DivergenceFree",
                                   R"(Vector fields without sources: as many outputs as inputs, two or more.

K(x, z) = (∇∇ᵀ − ∇ᵀ∇ I) k(δ) at δ = x − z, so every function of its space has no divergence.

Parameters
----------
scalar : kernel or str
    A scalar kernel k with two derivatives: not `Laplacian`, nor `Matern` with ν ≤ 1. A name is for estimators, whose
    `gamma` is then its width, chosen by the data unless it is a number; it has no sums and no values.
bounded : bool, default=False
    The same kernel with other Fourier features, over `Gaussian` only: frequencies are drawn in proportion to their
    squared length and the features are bounded. A third of the variance at distance 0 is left.
normalized : bool, default=False
    The kernel times a number, so that tr K(x, x) = p: functions have unit mean variance per component in any unit of
    length. Without it a curl-free kernel is as large as 1 / ℓ².

Examples
--------
>>> from carmina.kernels import DivergenceFree, Gaussian
>>> DivergenceFree(Gaussian(0.5))([[0.0, 0.0]], [[0.5, 0.0]]).round(4)
array([[[[2.4261, 0.    ],
         [0.    , 0.    ]]]])
)");
  def_sum(m);
}

}  // namespace carmina::python
