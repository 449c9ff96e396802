// sketch_samples.cpp -- samples of sketches in Python, and the features that they make of a kernel.
#include "features/map_operations.hpp"
#include "features/sketched_map.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "kernel_values.hpp"
#include "running.hpp"
#include "sketch_values.hpp"

namespace carmina::python {
namespace {

using sketches::Sketch;

// A copy as a one-dimensional array.
template <class I>
nb::object to_array(const I* values, std::size_t size) {
  auto* const data = new I[size];
  std::copy_n(values, size, data);
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<I*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, I>(data, {size}, owner));
}

template <class I>
std::vector<I> to_vector(nb::handle values, const char* dtype, const char* name) {
  const auto array =
      nb::cast<nb::ndarray<const I, nb::c_contig, nb::device::cpu>>(numpy().attr("ascontiguousarray")(values, dtype));
  require(array.ndim() == 1, "Sketch: {} must have one dimension, found {}", name, array.ndim());
  return {array.data(), array.data() + array.size()};
}

nb::object to_python(const Mixing& mixing) {
  if (const auto* dense = std::get_if<Matrix<double>>(&mixing)) return nb::cast(to_numpy(Matrix<double>(*dense)));
  const auto& m = std::get<SparseMixing>(mixing);
  const auto entries = static_cast<std::size_t>(m.nonZeros()), columns = static_cast<std::size_t>(m.cols());
  const nb::tuple parts = nb::make_tuple(to_array(m.valuePtr(), entries), to_array(m.innerIndexPtr(), entries),
                                         to_array(m.outerIndexPtr(), columns + 1));
  return nb::module_::import_("scipy.sparse")
      .attr("csc_array")(parts, nb::arg("shape") = nb::make_tuple(m.rows(), m.cols()));
}

Mixing to_mixing(nb::handle values) {
  if (!nb::hasattr(values, "tocsc")) return to_matrix(values, "Sketch: mixing");
  const nb::object csc = values.attr("tocsc")().attr("astype")("float64").attr("copy")();
  csc.attr("sum_duplicates")();
  const auto shape = nb::cast<std::pair<Index, Index>>(csc.attr("shape"));
  const auto data = to_vector<double>(csc.attr("data"), "float64", "mixing.data");
  const auto rows = to_vector<int>(csc.attr("indices"), "int32", "mixing.indices");
  const auto begins = to_vector<int>(csc.attr("indptr"), "int32", "mixing.indptr");
  return SparseMixing(Eigen::Map<const SparseMixing>(shape.first, shape.second, static_cast<Index>(data.size()),
                                                     begins.data(), rows.data(), data.data()));
}

Sketch make_sample(Index n, nb::handle anchors, nb::handle mixing) {
  const auto rows = to_vector<std::int64_t>(anchors, "int64", "anchors");
  Sketch sketch{.n = n, .anchors = {rows.begin(), rows.end()}, .mixing = to_mixing(mixing)};
  require(columns_of(sketch.mixing) == sketch.anchor_count(), "Sketch: mixing has {} columns for {} anchors",
          columns_of(sketch.mixing), sketch.anchor_count());
  const bool ascending = std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  require(ascending && (rows.empty() || (rows.front() >= 0 && rows.back() < n)),
          "Sketch: anchors must be different rows in [0, {}), ascending", n);
  return sketch;
}

// The scalar kernel whose features are wanted; outputs are coupled by the caller.
const ScalarKernel& scalar_of(const Kernel& kernel) {
  const Term* term = kernel.separable();
  require(term != nullptr && term->weight == own_weight(term->scalar),
          "a sketch is of one scalar kernel, alone or in Decomposable: sums and multiples are not supported");
  return term->scalar;
}

template <Real T>
nb::object whitening(const Kernel& kernel, const Sketch& sketch, nb::handle X, int threads) {
  const Rows<T> rows(X, "X");
  return nb::cast(to_numpy(run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
    const SketchedMap<T> map(scalar_of(kernel), sketch.anchor_rows<T>(rows.view()), sketch.mixing, {}, execution);
    return Matrix<double>(map.whitening());
  })));
}

template <Real T>
nb::object features(const Kernel& kernel, const Sketch& sketch, nb::handle anchors, nb::handle whitening_matrix,
                    nb::handle X, int threads) {
  const SketchedMap<T> map(KernelMap<T>(scalar_of(kernel), Rows<T>(anchors, "anchors").view()), sketch.mixing,
                           to_matrix(whitening_matrix, "whitening"));
  const Rows<T> rows(X, "X");
  NewArray<T> out({static_cast<std::size_t>(rows.rows()), static_cast<std::size_t>(map.n_features())});
  run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
    auto Z = out.view(rows.rows(), map.n_features());
    evaluate(map, rows.view(), Z, execution);
    const double weight = kernel.terms()[0].weight;
    if (weight != 1) Z *= static_cast<T>(std::sqrt(weight));
  });
  return nb::cast(out.array);
}

template <Real T>
Sketch sample(const SketchValue& self, std::uint64_t seed, nb::handle X, const Kernel& kernel) {
  const Rows<T> rows(X, "X");
  return run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
    return sketches::sample<T>(self.distribution, seed, rows.view(), scalar_of(kernel), {}, execution);
  });
}

}  // namespace

Sketch draw(const SketchValue& self, Index n, nb::handle random_state, nb::handle X, nb::handle kernel) {
  const auto seed = nb::cast<std::uint64_t>(nb::module_::import_("carmina._validation").attr("seed_of")(random_state));
  if (X.is_none() || kernel.is_none() || !needs_data(self.distribution)) {
    return run(make_execution(0, 0, nb::none()),
               [&](const Execution& execution) { return sketches::sample(self.distribution, n, seed, execution); });
  }
  const auto rows = nb::cast<Index>(numpy().attr("shape")(X)[nb::int_(0)]);
  require(rows == n, "{}: a sketch of {} rows, but X has {}", sketch_name(self.distribution), n, rows);
  const auto& chosen = nb::cast<const Kernel&>(kernel);
  return in_precision_of(X, [&](auto precision) { return sample<decltype(precision)>(self, seed, X, chosen); });
}

void bind_sketch_samples(nb::module_& m) {
  nb::class_<Sketch>(m, "Sketch",
                     R"(A sample S of a sketch: a few rows of the data, the anchors, and a matrix that mixes them.

Parameters
----------
n : int
    Columns of S, one for each row of the data.
anchors : array_like of int
    The rows whose column of S is not zero, ascending.
mixing : sparse array or array_like of shape (s, number of anchors)
    These columns.

Examples
--------
>>> from carmina.sketches import Sketch
>>> Sketch(4, [1, 3], [[1.0, 0.0], [2.0, 5.0]]).toarray()
array([[0., 1., 0., 0.],
       [0., 2., 0., 5.]])
)")
      .def(
          "__init__",
          [](Sketch* self, Index n, nb::handle anchors, nb::handle mixing) {
            new (self) Sketch(make_sample(n, anchors, mixing));
          },
          nb::arg("n"), nb::arg("anchors"), nb::arg("mixing"))
      .def_ro("n", &Sketch::n, "Columns of S: rows of the data.")
      .def_prop_ro(
          "anchors",
          [](const Sketch& self) {
            const std::vector<std::int64_t> rows(self.anchors.begin(), self.anchors.end());
            return to_array(rows.data(), rows.size());
          },
          nb::sig("def anchors(self) -> numpy.typing.NDArray[numpy.int64]"),
          "The rows of the data that count, ascending.")
      .def_prop_ro(
          "mixing", [](const Sketch& self) { return to_python(self.mixing); }, nb::sig("def mixing(self) -> object"),
          "Their columns of S (s, number of anchors): a `scipy.sparse.csc_array`, or an array for a dense sketch.")
      .def_prop_ro(
          "shape", [](const Sketch& self) { return nb::make_tuple(self.rows(), self.n); },
          nb::sig("def shape(self) -> tuple[int, int]"), "Of S.")
      .def(
          "toarray", [](const Sketch& self) { return to_numpy(self.toarray()); }, nb::rv_policy::move,
          "S (s, n) with all its zeros.")
      .def("__repr__",
           [](const Sketch& self) {
             return nb::str("<sketch of shape ({}, {}) with {} anchors>")
                 .format(self.rows(), self.n, self.anchor_count());
           })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(self.attr("n"), self.attr("anchors"), self.attr("mixing")));
      });
  m.def(
      "sketch_whitening",
      [](const Kernel& kernel, const Sketch& sketch, nb::handle X, int threads) {
        return in_precision_of(
            X, [&](auto precision) { return whitening<decltype(precision)>(kernel, sketch, X, threads); });
      },
      nb::arg("kernel"), nb::arg("sketch"), nb::arg("X"), nb::arg("threads") = 0,
      "U D^(−1/2) (s, r) of S K Sᵀ = U D Uᵀ, K between the rows of X.");
  m.def(
      "sketched_features",
      [](const Kernel& kernel, const Sketch& sketch, nb::handle anchors, nb::handle whitening_matrix, nb::handle X,
         int threads) {
        return in_precision_of(anchors, [&](auto precision) {
          return features<decltype(precision)>(kernel, sketch, anchors, whitening_matrix, X, threads);
        });
      },
      nb::arg("kernel"), nb::arg("sketch"), nb::arg("anchors"), nb::arg("whitening"), nb::arg("X"),
      nb::arg("threads") = 0, "z(X) (n, r) in the precision of the anchor rows.");
}

}  // namespace carmina::python
