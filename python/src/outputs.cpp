// outputs.cpp -- output matrices A for decomposable kernels.
#include <carmina/kernels/coupling.hpp>

#include <nanobind/stl/vector.h>

#include "arrays.hpp"

namespace carmina::python {

void bind_outputs(nb::module_& m) {
  m.def("output_identity", [](Index p) { return to_numpy(outputs::identity(p)); }, nb::arg("p"));
  m.def(
      "output_covariance", [](nb::handle Y) { return to_numpy(outputs::covariance(Rows<double>(Y, "Y").view())); },
      nb::arg("Y"));
  m.def(
      "output_graph",
      [](nb::handle adjacency, double mu) { return to_numpy(outputs::graph(to_matrix(adjacency, "adjacency"), mu)); },
      nb::arg("adjacency"), nb::arg("mu"));
  m.def(
      "output_graph_pinv",
      [](nb::handle adjacency) { return to_numpy(outputs::graph_pinv(to_matrix(adjacency, "adjacency"))); },
      nb::arg("adjacency"));
  m.def(
      "output_quantiles",
      [](const std::vector<double>& levels, double gamma) { return to_numpy(outputs::quantiles(levels, gamma)); },
      nb::arg("levels"), nb::arg("gamma"));
  m.def("output_simplex", [](Index n_classes) { return to_numpy(outputs::simplex(n_classes)); }, nb::arg("n_classes"));
}

}  // namespace carmina::python
