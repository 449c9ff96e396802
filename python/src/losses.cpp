// losses.cpp -- the losses as Python values, with what researchers ask of them. A new one is its class here.
#include <carmina/core/error.hpp>
#include "losses/row_functions.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "loss_values.hpp"
#include "value_manners.hpp"

namespace carmina::python {
namespace {

// (n, p), or (n,) for one output.
nb::object as_rows(nb::handle values) {
  nb::object array = as_array<double>(values);
  return nb::cast<int>(array.attr("ndim")) == 1 ? array.attr("reshape")(-1, 1) : array;
}

// Two arrays of one shape, the second targets that the loss takes.
class Pair {
 public:
  Pair(const Loss& loss, nb::handle A, nb::handle Y, const char* name)
      : loss_(loss), shape_(numpy().attr("shape")(A)), a_(as_rows(A), name), y_(as_rows(Y), "Y") {
    const nb::object targets = numpy().attr("shape")(Y);
    require(shape_.equal(targets), "{}: {} has shape {}, Y has shape {}", loss_name(loss), name, text(shape_),
            text(targets));
    A_ = a_.view();
    Y_ = y_.view();
    check_outputs(loss, A_.cols());
    for (Index i = 0; i < Y_.rows(); ++i) {
      for (Index j = 0; j < Y_.cols(); ++j) {
        if (const char* expected = expected_target(loss, Y_(i, j))) {
          fail("{}: Y must be {}, found {} in row {}", loss_name(loss), expected, Y_(i, j), i);
        }
      }
      if (const char* expected = expected_row(loss, Y_.row(i).data(), Y_.cols())) {
        fail("{}: a row of Y must be {}, found {} in row {}", loss_name(loss), expected,
             row_text(Y_.row(i).data(), Y_.cols()), i);
      }
    }
  }

  // body(one loss, a, y, p) of each row: (n,)
  template <class Body>
  nb::object numbers(const Body& body) const {
    const NewArray<double> out({static_cast<std::size_t>(A_.rows())});
    std::visit(
        [&](const auto& one) {
          for (Index i = 0; i < A_.rows(); ++i) out.data[i] = body(one, A_.row(i).data(), Y_.row(i).data(), A_.cols());
        },
        loss_);
    return nb::cast(out.array);
  }
  // body(one loss, a, y, p, out) for each row: an array of the same shape
  template <class Body>
  nb::object rows(const Body& body) const {
    const Index p = A_.cols();
    const NewArray<double> out({static_cast<std::size_t>(A_.rows()), static_cast<std::size_t>(p)});
    std::visit(
        [&](const auto& one) {
          for (Index i = 0; i < A_.rows(); ++i) body(one, A_.row(i).data(), Y_.row(i).data(), p, out.data + i * p);
        },
        loss_);
    return nb::cast(out.array).attr("reshape")(shape_);
  }

 private:
  static std::string text(nb::handle shape) { return nb::cast<std::string>(nb::repr(shape)); }

  const Loss& loss_;
  nb::object shape_;
  Rows<double> a_, y_;
  Matrix<double> A_, Y_;  // (n, p)
};

nb::object values(const Loss& loss, nb::handle F, nb::handle Y) {
  return Pair(loss, F, Y, "F").numbers([](const auto& one, const double* f, const double* y, Index p) {
    return row_value(one, f, y, p);
  });
}

nb::object gradients(const Loss& loss, nb::handle F, nb::handle Y) {
  return Pair(loss, F, Y, "F").rows([](const auto& one, const double* f, const double* y, Index p, double* out) {
    row_gradient(one, f, y, p, out);
  });
}

nb::object proxes(const Loss& loss, nb::handle F, nb::handle Y, double step) {
  require(step > 0 && std::isfinite(step), "{}: step must be positive and finite, found {}", loss_name(loss), step);
  return Pair(loss, F, Y, "F").rows([step](const auto& one, const double* z, const double* y, Index p, double* out) {
    row_prox(one, z, y, step, p, out);
  });
}

// Infinite outside the domain; a gradient is inside but for rounding, and that is forgiven.
nb::object conjugates(const Loss& loss, nb::handle U, nb::handle Y) {
  return Pair(loss, U, Y, "U").numbers([](const auto& one, const double* u, const double* y, Index p) {
    std::vector<double> inside(u, u + p);
    const std::vector<double> zero(static_cast<std::size_t>(p), 0.0);
    row_into_domain(one, inside.data(), y, p);
    const bool outside = row_distance(u, inside.data(), p) > 1e-12 * row_distance(u, zero.data(), p);
    return outside ? std::numeric_limits<double>::infinity() : row_conjugate(one, inside.data(), y, p);
  });
}

template <class L>
using Class = nb::class_<LossOf<L>, LossValue>;

// A loss that has no parameters.
template <class L>
void def_plain_class(nb::module_& m, const char* name, const char* doc) {
  Class<L> type(m, name, doc);
  type.def("__init__", [](LossOf<L>* self) { new (self) LossOf<L>(L()); })
      .def_prop_ro("_parameters", [](const LossOf<L>&) { return nb::dict(); });
}

// A loss that has one number.
template <class L>
void def_class_with(nb::module_& m, const char* name, const char* doc, const char* parameter, double L::* member,
                    const char* meaning) {
  Class<L> type(m, name, doc);
  const auto number_of = [member](const LossOf<L>& self) {
    return self.automatic ? nb::object(nb::str("auto")) : nb::object(nb::float_(self.value().*member));
  };
  const std::string signature =
      format_text("def __init__(self, {}: float | typing.Literal['auto'] = {}) -> None", parameter, L().*member);
  type.def(
          "__init__",
          [parameter](LossOf<L>* self, nb::handle number) {
            if (nb::isinstance<nb::str>(number)) {
              const auto word = nb::cast<std::string>(number);
              require(word == "auto", "{}: {} must be a number or 'auto', found '{}'", L::name, parameter, word);
              new (self) LossOf<L>(L(), true);
            } else {
              new (self) LossOf<L>(L(nb::cast<double>(number)));
            }
          },
          nb::arg(parameter) = L().*member, nb::sig(signature.c_str()))
      .def_prop_ro(parameter, number_of, meaning)
      .def_prop_ro("_parameters", [number_of, parameter](const LossOf<L>& self) {
        nb::dict parameters;
        parameters[parameter] = number_of(self);
        return parameters;
      });
}

void def_pinball(nb::module_& m) {
  Class<Pinball> type(m, "Pinball", R"(The pinball loss Σ_j max(τ_j e_j, (τ_j − 1) e_j), e = y − f: quantiles.

Parameters
----------
levels : float or sequence of float, default=0.5
    The levels τ, between 0 and 1: one for each output, or one for all.

Examples
--------
>>> from carmina.losses import Pinball
>>> Pinball([0.1, 0.9])
Pinball(levels=[0.1, 0.9])
>>> Pinball(0.1).value([0.0, 2.0], [1.0, 1.0])
array([0.1, 0.9])
)");
  type.def(
          "__init__",
          [](LossOf<Pinball>* self, nb::handle levels) {
            const nb::object array = as_array<double>(levels);
            const auto dimensions = nb::cast<int>(array.attr("ndim"));
            require(dimensions <= 1, "Pinball: levels must be a number or one number per output, found {} dimensions",
                    dimensions);
            new (self) LossOf<Pinball>(Pinball(nb::cast<std::vector<double>>(array.attr("ravel")().attr("tolist")())));
          },
          nb::arg("levels") = 0.5,
          nb::sig("def __init__(self, levels: float | collections.abc.Sequence[float] = 0.5) -> None"))
      .def_prop_ro(
          "levels", [](const LossOf<Pinball>& self) { return self.value().levels; }, "The levels τ.")
      .def_prop_ro("_parameters", [](const LossOf<Pinball>& self) {
        nb::dict parameters;
        parameters["levels"] = self.value().levels;
        return parameters;
      });
}

void def_losses(nb::module_& m) {
  def_plain_class<Squared>(m, "Squared", R"(The squared loss ‖f − y‖²/2.

Examples
--------
>>> from carmina.losses import Squared
>>> Squared().value([[3.0, 4.0]], [[0.0, 0.0]])
array([12.5])
)");
  def_class_with<Huber>(m, "Huber",
                        R"(Huber's loss: ‖f − y‖²/2 up to κ, then κ(‖f − y‖ − κ/2): outliers pull no harder than κ.

Parameters
----------
kappa : float or "auto", default=1.0
    The norm κ of a residual from which on the loss is linear. "auto": a fit takes twice the median norm of
    residuals of left-out rows, 1.35 deviations of normal ones.

Examples
--------
>>> from carmina.losses import Huber
>>> Huber(2.0).value([1.0, 5.0], [0.0, 0.0])
array([0.5, 8. ])
)",
                        "kappa", &Huber::kappa, "The norm κ from which on the loss is linear.");
  def_class_with<EpsilonInsensitive>(m, "EpsilonInsensitive",
                                     R"(The loss max(‖f − y‖ − ε, 0) of support vector regression.

Parameters
----------
epsilon : float or "auto", default=0.1
    The norm ε up to which a residual costs nothing. "auto": a fit takes 3 √(log n / n) robust deviations of
    residuals of left-out rows, at most half of one.

Examples
--------
>>> from carmina.losses import EpsilonInsensitive
>>> EpsilonInsensitive(1.0).value([0.5, 3.0], [0.0, 0.0])
array([0., 2.])
)",
                                     "epsilon", &EpsilonInsensitive::epsilon,
                                     "The norm ε up to which a residual costs nothing.");
  def_class_with<SquaredEpsilonInsensitive>(m, "SquaredEpsilonInsensitive",
                                            R"(The loss max(‖f − y‖ − ε, 0)²/2.

Parameters
----------
epsilon : float or "auto", default=0.1
    The norm ε up to which a residual costs nothing. "auto": a fit takes 3 √(log n / n) robust deviations of
    residuals of left-out rows, at most half of one.

Examples
--------
>>> from carmina.losses import SquaredEpsilonInsensitive
>>> SquaredEpsilonInsensitive(1.0).value([0.5, 3.0], [0.0, 0.0])
array([0., 2.])
)",
                                            "epsilon", &SquaredEpsilonInsensitive::epsilon,
                                            "The norm ε up to which a residual costs nothing.");
  def_pinball(m);
  def_plain_class<Absolute>(m, "Absolute", R"(The norm ‖f − y‖: for one output its absolute value, and a median.

Examples
--------
>>> from carmina.losses import Absolute
>>> Absolute().value([[3.0, 4.0]], [[0.0, 0.0]])
array([5.])
)");
  def_plain_class<Hinge>(m, "Hinge", R"(The hinge loss Σ_j max(0, 1 − y_j f_j) of targets ±1.

Examples
--------
>>> from carmina.losses import Hinge
>>> Hinge().value([0.25, 2.0], [-1, 1])
array([1.25, 0.  ])
)");
  def_plain_class<Logistic>(m, "Logistic", R"(The logistic loss, the negative log likelihood of a class.

One output: log(1 + exp(−y f)) of targets y = ±1. Several: log Σ_j exp(f_j) − f_c for a row of targets that is
0 but for a single 1, that of the class c; the probabilities of the classes are the softmax of f.

Examples
--------
>>> from carmina.losses import Logistic
>>> Logistic().value([[0.0, 0.0]], [[0, 1]]).round(4)
array([0.6931])
>>> Logistic().value([2.0, 2.0], [1, -1]).round(4)
array([0.1269, 2.1269])
)");
}

}  // namespace

nb::object to_python(const Loss& loss) {
  return std::visit([]<class L>(const L& l) { return nb::cast(LossOf<L>(l)); }, loss);
}

void bind_losses(nb::module_& m) {
  nb::class_<LossValue> loss(m, "Loss",
                             "What every loss is: a function ℓ(f, y) of predictions and targets, given as rows (n, p), "
                             "or (n,) for one output.");
  as_value(loss);
  loss.def(
          "value", [](const LossValue& self, nb::handle F, nb::handle Y) { return values(self.known(), F, Y); },
          nb::arg("F"), nb::arg("Y"),
          nb::sig("def value(self, F: numpy.typing.ArrayLike, Y: numpy.typing.ArrayLike) -> numpy.typing.NDArray"),
          "ℓ(f, y) of each row: (n,).")
      .def(
          "gradient", [](const LossValue& self, nb::handle F, nb::handle Y) { return gradients(self.known(), F, Y); },
          nb::arg("F"), nb::arg("Y"),
          nb::sig("def gradient(self, F: numpy.typing.ArrayLike, Y: numpy.typing.ArrayLike) -> numpy.typing.NDArray"),
          "A subgradient of ℓ by f, in the shape of F.")
      .def(
          "prox",
          [](const LossValue& self, nb::handle F, nb::handle Y, double step) {
            return proxes(self.known(), F, Y, step);
          },
          nb::arg("F"), nb::arg("Y"), nb::arg("step") = 1.0,
          nb::sig("def prox(self, F: numpy.typing.ArrayLike, Y: numpy.typing.ArrayLike, step: float = 1.0) -> "
                  "numpy.typing.NDArray"),
          "The g that minimises ℓ(g, y) + ‖g − f‖²/(2 step), in the shape of F.")
      .def(
          "conjugate", [](const LossValue& self, nb::handle U, nb::handle Y) { return conjugates(self.known(), U, Y); },
          nb::arg("U"), nb::arg("Y"),
          nb::sig("def conjugate(self, U: numpy.typing.ArrayLike, Y: numpy.typing.ArrayLike) -> numpy.typing.NDArray"),
          "ℓ*(u) = sup_f ⟨u, f⟩ − ℓ(f, y) of each row, infinite where there is no bound: (n,).")
      .def_prop_ro(
          "name", [](const LossValue& self) { return loss_name(self.loss); },
          "What the loss is called where it is given by name: 'squared', 'huber', ...");
  def_losses(m);
  m.def(
      "make_loss",
      [](const std::string& name, const LossParameters& parameters) { return to_python(make_loss(name, parameters)); },
      nb::arg("name"), nb::arg("parameters") = LossParameters(),
      nb::sig("def make_loss(name: str, parameters: dict[str, list[float]] = {}) -> Loss"),
      "The loss of that name; parameters that are not given take their defaults.");
}

}  // namespace carmina::python
