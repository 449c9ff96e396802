// pairwise_kernels.cpp -- scalar kernels that are not functions of a difference, as Python values; one of them is a
// Python function.
#include <memory>
#include <set>
#include <utility>

#include "arrays.hpp"
#include "interpreter_lock.hpp"
#include "kernel_values.hpp"

namespace carmina::python {
namespace {

// A reference to a function that may be dropped where the lock is not held. All are dropped when the interpreter ends:
// a function holds its module, the module its kernels, so that none of them would ever go.
class HeldFunction {
 public:
  explicit HeldFunction(const nb::callable& f) : function_(f.inc_ref().ptr()) { all().insert(this); }
  ~HeldFunction() {
    if (function_ == nullptr) return;
    const Locked locked;
    all().erase(this);
    Py_CLEAR(function_);
  }
  HeldFunction(const HeldFunction&) = delete;
  HeldFunction& operator=(const HeldFunction&) = delete;

  nb::object object() const {
    require(function_ != nullptr, "Callable: the interpreter is ending");
    return nb::borrow(function_);
  }
  static void drop_all() {
    const std::set<HeldFunction*> held = std::exchange(all(), {});
    for (HeldFunction* one : held) Py_CLEAR(one->function_);
  }

 private:
  static std::set<HeldFunction*>& all() {
    static std::set<HeldFunction*> held;  // used with the lock alone
    return held;
  }
  PyObject* function_;
};

// f(X, Z) -> (n, m), called with the interpreter lock from whatever thread. What it raises goes through as it is.
class PythonFunction {
 public:
  explicit PythonFunction(const nb::callable& f) : held_(std::make_shared<HeldFunction>(f)) {}
  nb::object object() const { return held_->object(); }

  void operator()(ConstView<double> X, ConstView<double> Z, View<double> out) const {
    const Locked locked;
    // Copies: the function may keep what it is given.
    const nb::object values = object()(to_numpy(Matrix<double>(X)), to_numpy(Matrix<double>(Z)));
    const Rows<double> rows(values, "Callable: what the function gives");
    require(rows.rows() == X.rows() && rows.columns() == Z.rows(),
            "Callable: the function gave {} x {} values for {} rows against {}", rows.rows(), rows.columns(), X.rows(),
            Z.rows());
    out = rows.view();
  }

 private:
  std::shared_ptr<HeldFunction> held_;
};

void def_polynomial(nb::module_& m) {
  using K = Scalar<Polynomial>;
  nb::class_<K, Kernel>(m, "Polynomial", R"(The polynomial kernel k(x, z) = (γ⟨x, z⟩ + c)^degree.

Not a function of x − z: for exact fits and sketches only.

Parameters
----------
degree : int, default=3
    From 1 to 100.
gamma : float, default=1.0
    γ, positive. A fit with the name "polynomial" takes its parameter `gamma`, or 1 / number of inputs for "median".
coef0 : float, default=1.0
    c, not negative.

Examples
--------
>>> from carmina.kernels import Polynomial
>>> Polynomial(2, coef0=0.0)
Polynomial(degree=2, gamma=1.0, coef0=0.0)
>>> Polynomial(2)([[1.0, 2.0]], [[3.0, 0.5]])
array([[25.]])
)")
      .def(
          "__init__",
          [](K* self, double degree, double gamma, double coef0) { new (self) K(Polynomial(degree, gamma, coef0)); },
          nb::arg("degree") = 3, nb::arg("gamma") = 1.0, nb::arg("coef0") = 1.0,
          nb::sig("def __init__(self, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0) -> None"))
      .def_prop_ro(
          "degree", [](const K& k) { return k.value().degree; }, "The exponent.")
      .def_prop_ro(
          "gamma", [](const K& k) { return k.value().gamma; }, "The factor γ.")
      .def_prop_ro(
          "coef0", [](const K& k) { return k.value().coef0; }, "The constant c.")
      .def_prop_ro("_parameters", [](const K& k) {
        nb::dict parameters;
        parameters["degree"] = k.value().degree;
        parameters["gamma"] = k.value().gamma;
        parameters["coef0"] = k.value().coef0;
        return parameters;
      });
}

void def_sobolev(nb::module_& m) {
  using K = Scalar<Sobolev1>;
  nb::class_<K, Kernel>(m, "Sobolev1",
                        R"(The first-order Sobolev kernel k(x, z) = Π_j min(x_j, z_j), for inputs of at least 0.

In one dimension its space is the functions with f(0) = 0 and ‖f‖² = ∫ f′(x)² dx: fits are piecewise linear. Not a
function of x − z: for exact fits and sketches only. Negative inputs are refused, so `scale_inputs` does not go with it.

Examples
--------
>>> from carmina.kernels import Sobolev1
>>> Sobolev1()([[0.2, 1.0]], [[0.5, 0.5]])
array([[0.1]])
)")
      .def(
          "__init__", [](K* self) { new (self) K(Sobolev1()); }, nb::sig("def __init__(self) -> None"))
      .def_prop_ro("_parameters", [](const K&) { return nb::dict(); });
}

void def_linear_and_constant(nb::module_& m) {
  nb::class_<Scalar<Linear>, Kernel>(m, "Linear",
                                     R"(The linear kernel k(x, z) = ⟨x, z⟩: functions that are linear in the inputs.

Beside others, a trend: `Linear().on("time") + Gaussian(2.0)`. Its features are the inputs, as many as there are.

Examples
--------
>>> from carmina.kernels import Linear
>>> Linear()([[1.0, 2.0]], [[3.0, 0.5]])
array([[4.]])
)")
      .def(
          "__init__", [](Scalar<Linear>* self) { new (self) Scalar<Linear>(Linear()); },
          nb::sig("def __init__(self) -> None"))
      .def_prop_ro("_parameters", [](const Scalar<Linear>&) { return nb::dict(); });
  nb::class_<Scalar<Constant>, Kernel>(m, "Constant", R"(The constant kernel k(x, z) = 1: a constant that is penalised.

Unlike the intercept, which is not. Its only feature is 1.

Examples
--------
>>> from carmina.kernels import Constant, Linear
>>> (2.0 * Constant() + Linear())([[1.0]], [[3.0]])
array([[5.]])
)")
      .def(
          "__init__", [](Scalar<Constant>* self) { new (self) Scalar<Constant>(Constant()); },
          nb::sig("def __init__(self) -> None"))
      .def_prop_ro("_parameters", [](const Scalar<Constant>&) { return nb::dict(); });
}

void def_callable(nb::module_& m) {
  using K = Scalar<Callable>;
  nb::class_<K, Kernel>(m, "Callable", R"(Any scalar kernel, given as a function; for exact fits and sketches only.

The function is called with blocks of rows, from several threads one at a time. A model with it cannot be saved to a file
or pickled; the kernel can be pickled when the function can. Equal are kernels of the same function.

Parameters
----------
f : callable
    f(X, Z) gives the values (n, m) between the rows of X (n, d) and Z (m, d), arrays of float64. It should be symmetric
    and positive semi-definite, and each value must depend on its two rows alone; neither is checked.

Examples
--------
>>> import numpy as np
>>> from carmina.kernels import Callable
>>> linear = Callable(lambda X, Z: X @ Z.T)
>>> linear([[1.0, 2.0]], [[3.0, 0.5]])
array([[4.]])
)")
      .def(
          "__init__", [](K* self, const nb::callable& f) { new (self) K(Callable(PythonFunction(f), f.ptr())); },
          nb::arg("f"),
          nb::sig("def __init__(self, f: collections.abc.Callable[[numpy.typing.NDArray, numpy.typing.NDArray], "
                  "numpy.typing.ArrayLike]) -> None"))
      .def_prop_ro(
          "f", [](const K& k) { return k.value().function().target<PythonFunction>()->object(); },
          nb::sig("def f(self) -> collections.abc.Callable"), "The function.")
      .def_prop_ro("_parameters", [](nb::handle self) {
        nb::dict parameters;
        parameters["f"] = self.attr("f");
        return parameters;
      });
}

}  // namespace

void bind_pairwise_kernels(nb::module_& m) {
  def_polynomial(m);
  def_sobolev(m);
  def_linear_and_constant(m);
  def_callable(m);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&HeldFunction::drop_all));
}

}  // namespace carmina::python
