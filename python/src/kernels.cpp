// kernels.cpp -- what all kernels do in Python: exact values, sums and multiples, and the manners of a value.
#include "features/kernel_map.hpp"
#include "features/operator_map.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "kernel_values.hpp"
#include "running.hpp"
#include "value_manners.hpp"

namespace carmina::python {
namespace {

bool independent(const Kernel& kernel) {
  for (const Term& term : kernel.terms()) {
    if (!std::holds_alternative<Independent>(term.coupling)) return false;
  }
  return true;
}

// Sum of the weighted scalar kernels: (n, m).
template <Real T>
Matrix<T> scalar_values(const Kernel& kernel, ConstView<T> X, ConstView<T> Z, const Execution& execution) {
  Matrix<T> sum;
  for (const Term& term : kernel.terms()) {
    Matrix<T> values = kernel_matrix<T>(term.scalar, X, Z, execution);
    if (term.weight != 1) values *= static_cast<T>(term.weight);
    if (sum.size() == 0) {
      sum = std::move(values);
    } else {
      sum += values;
    }
  }
  return sum;
}

// K(x_i, z_j)_ab at [i, j, a, b].
template <Real T>
void operator_values(const Kernel& kernel, ConstView<T> X, ConstView<T> Z, Index p, T* out,
                     const Execution& execution) {
  require(X.cols() == Z.cols(), "kernel: X has {} columns, Z has {}", X.cols(), Z.cols());
  kernel.check_dimensions(X.cols(), p);
  if (X.rows() == 0 || Z.rows() == 0) return;
  const Term* term = kernel.separable();
  if (term != nullptr) {
    const Matrix<T> values = kernel_matrix<T>(term->scalar, X, Z, execution);
    const Matrix<T> factor = (term->weight * std::get<OutputMatrix>(term->coupling).A()).template cast<T>();
    const Eigen::Map<const Vector<T>> k(values.data(), values.size()), entries(factor.data(), factor.size());
    map_rows(out, k.size(), entries.size()).noalias() = k * entries.transpose();
    return;
  }
  const OperatorMap<T> map(kernel, Z, p);
  if constexpr (std::same_as<T, double>) {
    map.blocks(X, out, execution);
  } else {
    std::vector<double> blocks(static_cast<std::size_t>(X.rows() * Z.rows() * p * p));
    map.blocks(X, blocks.data(), execution);
    std::copy(blocks.begin(), blocks.end(), out);
  }
}

template <Real T>
nb::object values(const Kernel& kernel, nb::handle X, nb::handle Z) {
  const Rows<T> x(X, "kernel: X"), z(Z.is_none() ? X : Z, "kernel: Z");
  const auto compute = [&](auto body) {
    return run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
      require(x.view().allFinite() && z.view().allFinite(), "kernel: an input is NaN or infinite");
      return body(execution);
    });
  };
  if (independent(kernel)) {
    return nb::cast(to_numpy(
        compute([&](const Execution& execution) { return scalar_values<T>(kernel, x.view(), z.view(), execution); })));
  }
  const Index outputs = *kernel.n_outputs(x.columns());
  const auto n = static_cast<std::size_t>(x.rows()), m = static_cast<std::size_t>(z.rows());
  const auto p = static_cast<std::size_t>(outputs);
  NewArray<T> out({n, m, p, p});
  compute([&](const Execution& execution) {
    operator_values<T>(kernel, x.view(), z.view(), outputs, out.data, execution);
  });
  return nb::cast(out.array);
}

// None when there are as many outputs as inputs.
nb::object output_count(const Kernel& kernel) {
  const auto fewer = kernel.n_outputs(0), more = kernel.n_outputs(1);
  if (!fewer) return nb::cast(1);
  return *fewer == *more ? nb::cast(*fewer) : nb::none();
}

// Kernels of functions are the same when Python finds the functions equal.
bool equal_kernels(nb::handle self, const Kernel& other) {
  if (nb::cast<const Kernel&>(self) == other) return true;
  const nb::object that = to_python(other);
  return self.type().is(that.type()) && self.attr("_parameters").equal(that.attr("_parameters"));
}

}  // namespace

nb::object to_python(const Kernel& kernel) {
  const auto& terms = kernel.terms();
  return terms.size() == 1 && terms[0].weight == own_weight(terms[0].scalar) ? unweighted(terms[0])
                                                                             : nb::cast(Sum(kernel));
}

void bind_kernels(nb::module_& m) {
  nb::class_<Kernel> kernel(m, "Kernel",
                            "What every kernel is. Made by the classes below, by `k1 + k2` and `0.3 * k`.");
  as_value(kernel, &equal_kernels);
  kernel
      .def(
          "__call__",
          [](const Kernel& self, nb::handle X, nb::handle Z) {
            return in_precision_of(X, [&](auto precision) { return values<decltype(precision)>(self, X, Z); });
          },
          nb::arg("X"), nb::arg("Z") = nb::none(),
          nb::sig("def __call__(self, X: numpy.typing.ArrayLike, Z: numpy.typing.ArrayLike | None = None) -> "
                  "numpy.typing.NDArray"),
          "Exact values between the rows of X and those of Z (X again when it is None): (n, m), or (n, m, p, p) when "
          "operator-valued.")
      .def(
          "__add__", [](const Kernel& a, const Kernel& b) { return to_python(a + b); }, nb::is_operator(),
          nb::sig("def __add__(self, other: Kernel, /) -> Kernel"))
      .def(
          "__mul__", [](const Kernel& k, double factor) { return to_python(factor * k); }, nb::is_operator(),
          nb::sig("def __mul__(self, factor: float, /) -> Kernel"))
      .def(
          "__mul__", [](const Kernel& a, const Kernel& b) { return to_python(a * b); }, nb::is_operator(),
          nb::sig("def __mul__(self, other: Kernel, /) -> Kernel"))
      .def(
          "on", [](const Kernel& k, nb::handle columns) { return to_python(k.on(to_columns(columns))); },
          nb::arg("columns"),
          nb::sig("def on(self, columns: int | str | collections.abc.Sequence[int] | collections.abc.Sequence[str]) -> "
                  "Kernel"),
          "The kernel of some of the inputs: of columns by number, counted from 0, or by name.")
      .def(
          "_found_in",
          [](const Kernel& k, const std::vector<std::string>& names, const std::vector<Index>& firsts) {
            return to_python(k.with_columns_found(names, firsts));
          },
          nb::arg("names"), nb::arg("firsts") = std::vector<Index>(), "With columns by number.")
      .def(
          "_of_table",
          [](const Kernel& k, const std::vector<Index>& firsts) {
            std::vector<Term> terms = k.terms();
            for (Term& term : terms) {
              if (!std::holds_alternative<Product>(term.scalar)) continue;
              std::vector<Product::Factor> factors = factors_of(term.scalar);
              for (Product::Factor& factor : factors) factor.columns = factor.columns.of_table(firsts);
              term.scalar = Product(std::move(factors));
            }
            return to_python(Kernel(std::move(terms)));
          },
          nb::arg("firsts"), "With columns of a table in the place of the numbers that are made of them.")
      .def(
          "__rmul__", [](const Kernel& k, double factor) { return to_python(factor * k); }, nb::is_operator(),
          nb::sig("def __rmul__(self, factor: float, /) -> Kernel"))
      .def_prop_ro("n_outputs", &output_count, nb::sig("def n_outputs(self) -> int | None"),
                   "Outputs: 1 for a scalar kernel, which fits each on its own; p for `Decomposable` and others made "
                   "for p; None for "
                   "`CurlFree` and `DivergenceFree`, which have as many as inputs.")
      .def_prop_ro(
          "terms",
          [](const Kernel& self) {
            nb::list terms;
            for (const Term& term : self.terms()) terms.append(to_python(Kernel(term)));
            return nb::tuple(terms);
          },
          nb::sig("def terms(self) -> tuple[Kernel, ...]"), "The terms of a sum; the kernel itself if it is none.");
  // So that a NumPy number times a kernel is left to the kernel.
  kernel.attr("__array_ufunc__") = nb::none();
  bind_scalar_kernels(m);
  bind_pairwise_kernels(m);
  bind_mixture_kernels(m);
  bind_operator_kernels(m);
  bind_products(m);
  bind_spectral_kernels(m);
  m.def(
      "make_kernel",
      [](const std::string& name, std::optional<double> length_scale, const KernelParameters& parameters) {
        std::optional<LengthScale> width;
        if (length_scale) width = *length_scale;
        return to_python(make_scalar_kernel(name, width, parameters));
      },
      nb::arg("name"), nb::arg("length_scale") = nb::none(), nb::arg("parameters") = KernelParameters(),
      nb::sig("def make_kernel(name: str, length_scale: float | None = None, parameters: dict[str, float] = {}) -> "
              "Kernel"),
      "The scalar kernel of that name.");
}

}  // namespace carmina::python
