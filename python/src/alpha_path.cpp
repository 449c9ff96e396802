// alpha_path.cpp -- fits for many alphas by one pass over the rows; a machine for each alpha when asked for.
#include <carmina/models/alpha_path.hpp>

#include <nanobind/stl/vector.h>

#include "fit_rows.hpp"
#include "machine.hpp"
#include "running.hpp"

namespace carmina::python {
namespace {

// Machines of a path, made one by one when asked for.
struct Path {
  std::variant<MachinePath<float>, MachinePath<double>> machines;
};

Path fit_path(nb::handle X, nb::handle Y, nb::handle weights, FitOptions options, const std::vector<double>& alphas,
              bool leave_one_out, int threads, std::size_t memory_budget, nb::handle progress) {
  take_execution(options, threads, memory_budget, progress);
  return in_precision_of(X, [&]<class T>(T) -> Path {
    return with_rows<T>("path", X, Y, weights, options.execution, [&](RowSource<T>& rows) {
      return Path{carmina::fit_path(rows, options, alphas.empty() ? path_alphas() : alphas, leave_one_out)};
    });
  });
}

}  // namespace

nb::list to_list(const std::vector<PathPoint>& points) {
  nb::list result;
  for (const PathPoint& point : points) {
    nb::dict entry;
    entry["alpha"] = point.alpha;
    entry["training_loss"] = point.training_loss;
    entry["degrees_of_freedom"] = point.degrees_of_freedom;
    entry["gcv"] = point.gcv;
    entry["leave_one_out"] = point.leave_one_out ? nb::object(nb::float_(*point.leave_one_out)) : nb::none();
    result.append(entry);
  }
  return result;
}

void bind_alpha_path(nb::module_& m) {
  nb::class_<Path>(m, "Path")
      .def_static("fit", &fit_path, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("options"),
                  nb::arg("alphas"), nb::arg("leave_one_out"), nb::arg("threads") = 0, nb::arg("memory_budget") = 0,
                  nb::arg("progress") = nb::none())
      .def_prop_ro("points",
                   [](const Path& self) {
                     return std::visit([](const auto& path) { return to_list(path.points()); }, self.machines);
                   })
      .def("machine", [](const Path& self, std::size_t i) {
        return std::visit([i](const auto& path) { return Machine{path.machine(i), {}}; }, self.machines);
      });
}

}  // namespace carmina::python
