// sketches.cpp -- distributions of sketches as Python values. A new one is its class here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "sketch_values.hpp"
#include "value_manners.hpp"

namespace carmina::python {
namespace {

using namespace sketches;

template <class D>
using Class = nb::class_<SketchOf<D>, SketchValue>;

// n_components and what `more` puts in: the constructor's arguments by name.
template <class D, class More>
Class<D> def_class(nb::module_& m, const char* name, const char* doc, More more) {
  Class<D> type(m, name, doc);
  type.def_prop_ro("_parameters", [more](const SketchOf<D>& self) {
    nb::dict parameters;
    parameters["n_components"] = self.value().n_components;
    more(parameters, self.value());
    return parameters;
  });
  return type;
}

// A sketch that has nothing but a size.
template <class D>
void def_plain_class(nb::module_& m, const char* name, const char* doc) {
  def_class<D>(m, name, doc, [](nb::dict&, const D&) {})
      .def(
          "__init__", [](SketchOf<D>* self, Index n_components) { new (self) SketchOf<D>(D(n_components)); },
          nb::arg("n_components") = D().n_components);
}

template <class D>
void def_sparse_class(nb::module_& m, const char* name, const char* doc) {
  def_class<D>(m, name, doc, [](nb::dict& parameters, const D& d) { parameters["density"] = d.density; })
      .def(
          "__init__",
          [](SketchOf<D>* self, Index n_components, std::optional<double> density) {
            new (self) SketchOf<D>(D(n_components, density));
          },
          nb::arg("n_components") = D().n_components, nb::arg("density") = nb::none())
      .def_prop_ro(
          "density", [](const SketchOf<D>& self) { return self.value().density; },
          "The probability that an entry is there; None: 20/n, at most 1.");
}

void def_sub_sample(nb::module_& m) {
  const auto weights_of = [](const SubSample& d) -> nb::object {
    if (d.weights.size() == 0) return nb::none();
    return nb::cast(std::vector<double>(d.weights.begin(), d.weights.end()));
  };
  def_class<SubSample>(m, "SubSample", R"(Rows of the data as they are: Nyström's approximation.

Without weights s different rows, each set of them equally likely; with weights s draws with replacement. S has one entry in
each row: √(n/s), or 1/√(s q_j) where row j is drawn with probability q_j.

Parameters
----------
n_components : int, default=100
    The number s of rows of S.
weights : sequence of float, optional
    One for each row of the data; rows are drawn in proportion.

Examples
--------
>>> from carmina.sketches import SubSample
>>> SubSample(2).sample(1000, 0).anchors.shape
(2,)
)",
                       [=](nb::dict& parameters, const SubSample& d) { parameters["weights"] = weights_of(d); })
      .def(
          "__init__",
          [](SketchOf<SubSample>* self, Index n_components, const std::optional<std::vector<double>>& weights) {
            const auto given = weights.value_or(std::vector<double>());
            require(!weights || !given.empty(), "SubSample: weights are empty");
            new (self) SketchOf<SubSample>(SubSample(
                n_components, Eigen::Map<const Vector<double>>(given.data(), static_cast<Index>(given.size()))));
          },
          nb::arg("n_components") = SubSample().n_components, nb::arg("weights") = nb::none())
      .def_prop_ro(
          "weights", [=](const SketchOf<SubSample>& self) { return weights_of(self.value()); },
          nb::sig("def weights(self) -> list[float] | None"), "Of the rows of the data.");
}

void def_sparse_ones(nb::module_& m) {
  def_sparse_class<SparseRademacher>(m, "SparseRademacher", R"(p-SR: few entries, ±1/√(s p), anywhere in S.

Each entry is there with probability p, on its own. Only rows of the data with an entry are anchors: about n s p of them
when that is far below n.

Parameters
----------
n_components : int, default=100
    The number s of rows of S.
density : float, optional
    p in (0, 1]. None: 20/n, at most 1, so that a row of S has 20 entries on average.

Examples
--------
>>> from carmina.sketches import SparseRademacher
>>> sketch = SparseRademacher(5, density=0.001).sample(10_000, 0)
>>> sketch.shape, sketch.mixing.shape == (5, len(sketch.anchors))
((5, 10000), True)
)");
  def_sparse_class<SparseGaussian>(m, "SparseGaussian", R"(p-SG: few entries, N(0, 1)/√(s p), anywhere in S.

Parameters
----------
n_components : int, default=100
    The number s of rows of S.
density : float, optional
    p in (0, 1]. None: 20/n, at most 1, so that a row of S has 20 entries on average.
)");
  def_class<Accumulation>(m, "Accumulation", R"(The sum of m sub-samplings with random signs.

Each row of S adds up m entries ±√(n/(s m)) at columns drawn with replacement. The density of p-SR at the same cost is m/n.

Parameters
----------
n_components : int, default=100
    The number s of rows of S.
m : int, default=20
    Entries of a row.
)",
                          [](nb::dict& parameters, const Accumulation& d) { parameters["m"] = d.m; })
      .def(
          "__init__",
          [](SketchOf<Accumulation>* self, Index n_components, Index draws) {
            new (self) SketchOf<Accumulation>(Accumulation(n_components, draws));
          },
          nb::arg("n_components") = Accumulation().n_components, nb::arg("m") = Accumulation().m)
      .def_prop_ro("m", [](const SketchOf<Accumulation>& self) { return self.value().m; }, "Entries of a row.");
  def_plain_class<CountSketch>(m, "CountSketch", R"(One entry ±1 in each column of S, in a row drawn at random.

Every row of the data is an anchor, so a model keeps them all.

Parameters
----------
n_components : int, default=100
    The number s of rows of S.

Examples
--------
>>> from carmina.sketches import CountSketch
>>> abs(CountSketch(3).sample(5, 0).toarray()).sum(axis=0)
array([1., 1., 1., 1., 1.])
)");
}

void def_dense_ones(nb::module_& m) {
  def_plain_class<sketches::Gaussian>(m, "GaussianSketch", R"(Entries N(0, 1/s), all of them.

Every row of the data is an anchor, so a model keeps them all, and S itself is s n numbers.

Parameters
----------
n_components : int, default=100
    The number s of rows of S.
)");
  def_plain_class<Hadamard>(m, "Hadamard", R"(The subsampled randomised Hadamard transform (SRHT).

s different rows of the Hadamard matrix of order n′, the power of two at or above n, its first n columns, times random
signs, over √s. Every row of the data is an anchor, so a model keeps them all, and S itself is s n numbers.

Parameters
----------
n_components : int, default=100
    The number s of rows of S, at most n′.
)");
}

void def_adaptive_ones(nb::module_& m) {
  def_class<LeverageScores>(m, "LeverageScores", R"(Rows drawn by approximate ridge leverage scores.

The score of row i is entry i of the diagonal of K(K + αI)⁻¹: how much the fit there depends on the row itself. It is
estimated from s rows in O(n s²) steps; then s draws with replacement follow, like `SubSample` with weights.

Parameters
----------
n_components : int, default=100
    The number s of rows of S.
alpha : float, default=1.0
    α, as in the fit.

Examples
--------
>>> import numpy as np
>>> from carmina.kernels import Gaussian
>>> from carmina.sketches import LeverageScores
>>> X = np.random.default_rng(0).normal(size=(500, 2))
>>> LeverageScores(20, alpha=0.1).sample(500, 0, X, Gaussian(1.0)).shape
(20, 500)
)",
                            [](nb::dict& parameters, const LeverageScores& d) { parameters["alpha"] = d.alpha; })
      .def(
          "__init__",
          [](SketchOf<LeverageScores>* self, Index n_components, double alpha) {
            new (self) SketchOf<LeverageScores>(LeverageScores(n_components, alpha));
          },
          nb::arg("n_components") = LeverageScores().n_components, nb::arg("alpha") = LeverageScores().alpha)
      .def_prop_ro(
          "alpha", [](const SketchOf<LeverageScores>& self) { return self.value().alpha; }, "α, as in the fit.");
  def_plain_class<PivotedCholesky>(m, "PivotedCholesky", R"(Rows chosen by a randomly pivoted Cholesky factorisation.

Each row is drawn in proportion to what those before it leave of the kernel's diagonal: O(n s²) steps, n s numbers of memory,
and often the best rows there are. The mixing matrix is the identity. Fewer than s rows where these already give the whole
kernel matrix.

Parameters
----------
n_components : int, default=100
    The number s of rows of S, at most n.
)");
}

}  // namespace

nb::object to_python(const Distribution& distribution) {
  return std::visit([]<class D>(const D& d) { return nb::cast(SketchOf<D>(d)); }, distribution);
}

void bind_sketches(nb::module_& m) {
  bind_sketch_samples(m);
  nb::class_<SketchValue> sketch(m, "SketchDistribution",
                                 "What every distribution of sketches is; `sample` draws a matrix S (s, n) from it.");
  as_value(sketch);
  sketch
      .def_prop_ro(
          "n_components", [](const SketchValue& self) { return n_components(self.distribution); },
          "The number s of rows of S.")
      .def("sample", &draw, nb::arg("n"), nb::arg("random_state") = nb::none(), nb::arg("X") = nb::none(),
           nb::arg("kernel") = nb::none(),
           nb::sig("def sample(self, n: int, random_state: int | numpy.random.RandomState | numpy.random.Generator | "
                   "None = None, X: numpy.typing.ArrayLike | None = None, kernel: Kernel | None = None) -> Sketch"),
           "A sketch over n rows of data; an integer `random_state` is the seed itself. `LeverageScores` and "
           "`PivotedCholesky` look at the data X (n, d) and the kernel.")
      .def_prop_ro(
          "name", [](const SketchValue& self) { return sketch_name(self.distribution); },
          "Its name for `approximation`, in snake case.");
  def_sub_sample(m);
  def_sparse_ones(m);
  def_dense_ones(m);
  def_adaptive_ones(m);
  m.def(
      "make_sketch",
      [](const std::string& name, Index n_components) { return to_python(make_sketch(name, n_components)); },
      nb::arg("name"), nb::arg("n_components") = 100, "The distribution of that name in snake case.");
}

}  // namespace carmina::python
