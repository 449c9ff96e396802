// machine.cpp -- fitted kernel machines of either precision: fit, predict, to and from files and bytes.
#include <carmina/models/kernel_machine.hpp>
#include <cstring>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "running.hpp"

namespace carmina::python {
namespace {

// A machine, and the package's description of the estimator around it, which the file keeps too.
struct Machine {
  AnyKernelMachine machine;
  std::string estimator;  // JSON; empty when the command line wrote the file

  template <class F>
  auto visit(F&& f) const {
    return std::visit(std::forward<F>(f), machine);
  }
};

ModelFile to_file(const Machine& self) {
  ModelFile file = self.visit([](const auto& m) { return m.to_file(); });
  if (!self.estimator.empty()) file.texts["estimator"] = self.estimator;
  return file;
}

Machine from_file(const ModelFile& file, const std::string& source) {
  const auto text = file.texts.find("estimator");
  return {kernel_machine_from_file(file, source), text == file.texts.end() ? std::string() : text->second};
}

nb::bytes to_bytes(const Machine& self) {
  const std::vector<std::byte> bytes = encode_model(to_file(self));
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Machine from_bytes(const nb::bytes& bytes) {
  std::vector<std::byte> copy(bytes.size());
  std::memcpy(copy.data(), bytes.c_str(), copy.size());
  return from_file(decode_model(copy, "pickled model"), "pickled model");
}

Machine fit(nb::handle X, nb::handle Y, nb::handle weights, FitOptions options, int threads, std::size_t memory_budget,
            nb::handle progress) {
  options.execution = make_execution(threads, memory_budget, progress);
  return in_precision_of(X, [&](auto precision) -> Machine {
    using T = decltype(precision);
    const Rows<T> x(X, "fit: X"), y(Y, "fit: Y");
    std::optional<Rows<T>> w;
    if (!weights.is_none()) {
      w.emplace(as_array<T>(weights).attr("reshape")(1, -1), "fit: sample_weight");
      require(w->columns() == x.rows(), "fit: sample_weight has {} entries, X has {} rows", w->columns(), x.rows());
    }
    return run(options.execution, [&](const Execution&) {
      return Machine{KernelMachine<T>::fit(x.view(), y.view(), options, w ? w->view().data() : nullptr), {}};
    });
  });
}

nb::object predict(const Machine& self, nb::handle X, int threads) {
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> nb::object {
    const Rows<T> rows(X, "predict: X");
    NewArray<T> out({static_cast<std::size_t>(rows.rows()), static_cast<std::size_t>(machine.dim_out())});
    run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
      machine.predict(rows.view(), out.view(rows.rows(), machine.dim_out()), execution);
    });
    return nb::cast(out.array);
  });
}

nb::dict report(const Machine& self) {
  const SolveReport& report = self.visit([](const auto& m) -> const SolveReport& { return m.record().report; });
  nb::dict seconds, result;
  for (const auto& [phase, spent] : report.seconds) seconds[phase.c_str()] = spent;
  result["solver"] = report.solver;
  result["converged"] = report.status == SolveStatus::converged;
  result["iterations"] = report.iterations;
  result["residual"] = report.residual;
  result["message"] = report.message;
  result["seconds"] = seconds;
  return result;
}

// What the fit was asked, by the names of the estimator's parameters, and what it saw.
nb::dict record(const Machine& self) {
  const FitRecord& record = self.visit([](const auto& m) -> const FitRecord& { return m.record(); });
  nb::dict result;
  result["approximation"] = record.approximation;
  result["n_components"] = record.n_components;
  result["alpha"] = record.alpha;
  result["fit_intercept"] = record.fit_intercept;
  result["scale_inputs"] = record.scale_inputs;
  result["fill_missing"] = record.fill_missing;
  result["random_state"] = record.seed;
  result["input_names"] = record.input_names;
  result["target_names"] = record.target_names;
  return result;
}

void bind_options(nb::module_& m) {
  nb::class_<FitOptions>(m, "FitOptions")
      .def(nb::init<>())
      .def_rw("kernel", &FitOptions::kernel, nb::arg().none())
      .def_rw("kernel_name", &FitOptions::kernel_name)
      .def_prop_rw(
          "length_scale",
          [](const FitOptions& o) -> std::optional<std::vector<double>> {
            if (!o.length_scale) return std::nullopt;
            return o.length_scale->values();
          },
          [](FitOptions& o, double width) { o.length_scale = LengthScale(width); })
      .def_rw("approximation", &FitOptions::approximation)
      .def_rw("n_components", &FitOptions::n_components)
      .def_rw("alpha", &FitOptions::alpha)
      .def_rw("fit_intercept", &FitOptions::fit_intercept)
      .def_rw("scale_inputs", &FitOptions::scale_inputs)
      .def_rw("fill_missing", &FitOptions::fill_missing)
      .def_rw("solver", &FitOptions::solver)
      .def_rw("max_iter", &FitOptions::max_iter)
      .def_rw("tol", &FitOptions::tol)
      .def_rw("seed", &FitOptions::seed)
      .def_rw("input_names", &FitOptions::input_names)
      .def_rw("target_names", &FitOptions::target_names);
}

}  // namespace

void bind_machine(nb::module_& m) {
  bind_options(m);
  nb::class_<Machine>(m, "Machine")
      .def_static("fit", &fit, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("options"),
                  nb::arg("threads") = 0, nb::arg("memory_budget") = 0, nb::arg("progress") = nb::none())
      .def("predict", &predict, nb::arg("X"), nb::arg("threads") = 0)
      .def(
          "save",
          [](const Machine& self, const std::string& path) {
            nb::gil_scoped_release unlocked;
            write_model_file(path, to_file(self));
          },
          nb::arg("path"))
      .def_static(
          "load",
          [](const std::string& path) {
            nb::gil_scoped_release unlocked;
            return from_file(read_model_file(path), path);
          },
          nb::arg("path"))
      .def("__getstate__", &to_bytes)
      .def("__setstate__", [](Machine& self, const nb::bytes& bytes) { new (&self) Machine(from_bytes(bytes)); })
      .def_rw("estimator", &Machine::estimator, "The package's own description, kept in the file.")
      .def_prop_ro("dtype",
                   [](const Machine& self) {
                     return self.visit([]<class T>(const KernelMachine<T>&) { return dtype_name<T>; });
                   })
      .def_prop_ro("dim_in", [](const Machine& self) { return self.visit([](const auto& m) { return m.dim_in(); }); })
      .def_prop_ro("dim_out", [](const Machine& self) { return self.visit([](const auto& m) { return m.dim_out(); }); })
      .def_prop_ro("kernel", [](const Machine& self) { return self.visit([](const auto& m) { return m.kernel(); }); })
      .def_prop_ro("coefficients",
                   [](const Machine& self) {
                     return self.visit([]<class T>(const KernelMachine<T>& m) {
                       return nb::cast(to_numpy(Matrix<T>(m.coefficients())));
                     });
                   })
      .def_prop_ro("intercept",
                   [](const Machine& self) {
                     return self.visit([](const auto& m) { return nb::cast(to_numpy(m.intercept())); });
                   })
      .def_prop_ro("report", &report)
      .def_prop_ro("record", &record);
  m.def("parse_bytes", [](const std::string& text) { return parse_bytes(text); }, nb::arg("text"));
}

}  // namespace carmina::python
