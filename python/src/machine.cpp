// machine.cpp -- fitted kernel machines of either precision: fit, predict, to and from files and bytes.
#include "models/machine/machine_map.hpp"

#include <carmina/models/device_prediction.hpp>
#include <carmina/models/evaluation.hpp>
#include <carmina/models/row_noise.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "fit_rows.hpp"
#include "interpreter_lock.hpp"
#include "kernel_values.hpp"
#include "loss_values.hpp"
#include "machine.hpp"
#include "mixture_machine.hpp"
#include "model_state.hpp"
#include "processes.hpp"
#include "running.hpp"
#include "sketch_values.hpp"
#include "solve_report.hpp"

namespace carmina::python {
namespace {

ModelFile to_file(const Machine& self, KernelStorage storage = KernelStorage::in_file, bool variances = false) {
  return with_estimator(self.visit([&](const auto& m) { return m.to_file(storage, variances); }), self);
}

Machine from_file(const ModelFile& file, const std::string& source, const std::optional<Kernel>& apart = {}) {
  Machine machine{kernel_machine_from_file(file, source, apart), estimator_of(file)};
  machine.encoder = get_encoder(file, machine.visit([](const auto& m) { return m.dim_in(); }), source);
  return machine;
}

// The file's bytes; a kernel made of functions, which no file holds, beside them.
nb::tuple to_state(const Machine& self) {
  const Kernel& kernel = self.visit([](const auto& m) -> const Kernel& { return m.kernel(); });
  const bool apart = kernel.has_user_spectrum();
  return nb::make_tuple(to_bytes(to_file(self, apart ? KernelStorage::apart : KernelStorage::in_file)),
                        apart ? to_python(kernel) : nb::none());
}

Machine from_state(const nb::bytes& bytes, nb::handle kernel) {
  std::optional<Kernel> apart;
  if (!kernel.is_none()) apart = nb::cast<const Kernel&>(kernel);
  return from_file(from_bytes(bytes), "pickled model", apart);
}

Machine fit(nb::handle X, nb::handle Y, nb::handle weights, FitOptions options, int threads, std::size_t memory_budget,
            nb::handle progress, nb::handle communicator) {
  take_execution(options, threads, memory_budget, progress);
  const Communicator* processes = communicator_of(communicator);
  return in_precision_of(X, [&]<class T>(T) -> Machine {
    return with_rows<T>("fit", X, Y, weights, options.execution, [&](RowSource<T>& rows) {
      return Machine{
          processes ? KernelMachine<T>::fit(rows, options, *processes) : KernelMachine<T>::fit(rows, options), {}};
    });
  });
}

Machine fit_further(const Machine& self, nb::handle X, nb::handle Y, nb::handle weights, int threads,
                    std::size_t memory_budget) {
  const Execution execution = make_execution(threads, memory_budget, nb::none());
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> Machine {
    return with_rows<T>("partial_fit", X, Y, weights, execution, [&](RowSource<T>& rows) {
      return Machine{carmina::fit_further(machine, rows, execution), {}};
    });
  });
}

Machine merge(const Machine& self, const Machine& other, int threads) {
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> Machine {
    const auto* same = std::get_if<KernelMachine<T>>(&other.machine);
    require(same != nullptr, "merge: one machine is in float32, the other in float64");
    return run(make_execution(threads, 0, nb::none()),
               [&](const Execution& execution) { return Machine{carmina::merge(machine, *same, execution), {}}; });
  });
}

nb::object predict(const Machine& self, nb::handle X, int threads, const std::string& device) {
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> nb::object {
    Execution execution = make_execution(threads, 0, nb::none());
    execution.device = device;
    if (is_on_device(X)) {
      const DeviceArray<T> rows = device_array<T>(X);
      return nb::cast(
          to_numpy(run(execution, [&](const Execution& where) { return predict_on_device(machine, rows, where); })));
    }
    const Rows<T> rows(X, "predict: X");
    NewArray<T> out({static_cast<std::size_t>(rows.rows()), static_cast<std::size_t>(machine.dim_out())});
    run(execution,
        [&](const Execution& where) { machine.predict(rows.view(), out.view(rows.rows(), machine.dim_out()), where); });
    return nb::cast(out.array);
  });
}

// Of rows on a device: a copy in the host's memory.
nb::object rows_from_device(nb::handle X) {
  return in_precision_of(
      X, [&]<class T>(T) -> nb::object { return nb::cast(to_numpy(copy_from_device(device_array<T>(X)))); });
}

// Of what hands over its memory by DLPack: (address, shape, strides in bytes, dtype).
nb::tuple describe_dlpack(nb::handle array) {
  const auto held = nb::cast<nb::ndarray<nb::ro, nb::device::cuda>>(array);
  nb::list shape, strides;
  for (std::size_t k = 0; k < held.ndim(); ++k) {
    shape.append(held.shape(k));
    strides.append(held.stride(k) * static_cast<std::int64_t>(held.itemsize()));
  }
  const bool floats = held.dtype() == nb::dtype<float>(), doubles = held.dtype() == nb::dtype<double>();
  require(floats || doubles, "rows on a device must be float32 or float64; convert them, or copy them to the host");
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(held.data()), nb::tuple(shape), nb::tuple(strides),
                        numpy().attr("dtype")(floats ? "float32" : "float64"));
}

nb::object probabilities(const Machine& self, nb::handle X, int threads) {
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> nb::object {
    const Rows<T> rows(X, "predict: X");
    return nb::cast(to_numpy(run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
      return machine.probabilities(rows.view(), execution);
    })));
  });
}

// (scale, power, floor), or None
nb::object calibration(const Machine& self) {
  const auto& found = self.visit([](const auto& m) -> const auto& { return m.record().calibration; });
  return found ? nb::object(nb::make_tuple(found->scale, found->power, found->floor)) : nb::none();
}

Machine calibrated(const Machine& self, double scale, double power, double floor) {
  return self.visit([&](const auto& machine) -> Machine {
    return {machine.calibrated(Calibration{scale, power, floor}), self.estimator};
  });
}

Machine with_noise(const Machine& self, double variance) {
  return self.visit([&](const auto& machine) -> Machine {
    return {with_known_noise(machine, variance), self.estimator, self.encoder};
  });
}

// Of rows whose noise is known: (weights, variance of a row of weight 1).
nb::tuple noise_weights(const std::vector<double>& variances, const std::vector<double>& weights, bool chooses) {
  const RowNoise found = weights_of_noise(variances, weights, chooses ? NoiseUnit::least : NoiseUnit::mean);
  return nb::make_tuple(to_numpy(Vector<double>(Eigen::Map<const Vector<double>>(
                            found.weights.data(), static_cast<Index>(found.weights.size())))),
                        found.unit);
}

nb::list predict_parts(const Machine& self, nb::handle X, int threads) {
  nb::list result;
  self.visit([&]<class T>(const KernelMachine<T>& machine) {
    const Rows<T> rows(X, "predict_parts: X");
    auto parts = run(make_execution(threads, 0, nb::none()),
                     [&](const Execution& execution) { return machine.predict_parts(rows.view(), execution); });
    for (Matrix<T>& part : parts) result.append(to_numpy(std::move(part)));
  });
  return result;
}

// method(posterior, X, execution): (n, columns)
template <class Method>
nb::object from_posterior(const Machine& self, nb::handle X, int threads, Method method) {
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> nb::object {
    const Rows<T> rows(X, "variance: X");
    require(rows.columns() == machine.dim_in(), "variance: X has {} columns, the model has {} inputs", rows.columns(),
            machine.dim_in());
    const Execution execution = make_execution(threads, 0, nb::none());
    auto& kept = [&]() -> std::shared_ptr<const Posterior<T>>& {
      if constexpr (std::same_as<T, float>)
        return self.posterior_float;
      else
        return self.posterior_double;
    }();
    auto posterior = kept;  // another thread may put its own there meanwhile
    if (!posterior) {
      posterior = run(execution, [&](const Execution& e) { return std::make_shared<const Posterior<T>>(machine, e); });
      kept = posterior;
    }
    return nb::cast(to_numpy(run(execution, [&](const Execution& e) { return method(*posterior, rows.view(), e); })));
  });
}

Matrix<double> side_by_side(const std::vector<Matrix<double>>& some) {
  const Index p = some[0].cols();
  Matrix<double> all(some[0].rows(), static_cast<Index>(some.size()) * p);
  for (std::size_t s = 0; s < some.size(); ++s) all.middleCols(static_cast<Index>(s) * p, p) = some[s];
  return all;
}

nb::object deviation(const Machine& self, nb::handle X, int threads) {
  return from_posterior(self, X, threads,
                        [](const auto& p, const auto& x, const Execution& e) { return p.deviation(x, e); });
}

nb::object covariance(const Machine& self, nb::handle X, int threads) {
  return from_posterior(self, X, threads,
                        [](const auto& p, const auto& x, const Execution& e) { return p.covariance(x, e); });
}

// With the encoder that has made X of columns of which some wrap round: of these columns.
nb::object derive(const Machine& self, const std::string& what, nb::handle X, int threads,
                  const std::shared_ptr<const InputEncoder>& encoder) {
  const Derived derived = parse_derived(what);
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> nb::object {
    if (encoder) check_derived_inputs(machine.kernel(), *encoder, derived, false);
    const Rows<T> rows(X, "derivatives: X");
    return nb::cast(to_numpy(run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
      const Matrix<double> found = carmina::derive<T>(machine, derived, rows.view(), execution);
      if (!encoder || derived != Derived::gradient) return found;
      return encoder->by_columns(rows.view().template cast<double>(), found);
    })));
  });
}

nb::object derived_deviation(const Machine& self, const std::string& what, nb::handle X, int threads,
                             const std::shared_ptr<const InputEncoder>& encoder) {
  const Derived derived = parse_derived(what);
  if (encoder) {
    self.visit([&](const auto& machine) { check_derived_inputs(machine.kernel(), *encoder, derived, true); });
  }
  return from_posterior(self, X, threads, [&](const auto& p, const auto& x, const Execution& e) {
    return p.derived_deviation(derived, x, e);
  });
}

nb::object interval(const Machine& self, nb::handle X, double coverage, bool joint, int threads) {
  return from_posterior(self, X, threads, [&](const auto& p, const auto& x, const Execution& e) {
    return p.interval(x, coverage, joint, e);
  });
}

// (n, terms p): the parts side by side.
nb::object part_deviations(const Machine& self, nb::handle X, int threads) {
  return from_posterior(self, X, threads, [&](const auto& posterior, const auto& x, const Execution& e) {
    return side_by_side(posterior.part_deviations(x, e));
  });
}

// (n, draws p): the outputs of each draw side by side.
nb::object sample(const Machine& self, nb::handle X, Index draws, std::uint64_t seed, int threads) {
  return from_posterior(self, X, threads, [&](const auto& posterior, const auto& x, const Execution& e) {
    return side_by_side(posterior.sample(x, draws, seed, e));
  });
}

// X as the map's kernel sees it: filled, shifted, scaled.
nb::object transformed(const Machine& self, nb::handle X) {
  return self.visit([&]<class T>(const KernelMachine<T>& machine) -> nb::object {
    Matrix<T> rows = Rows<T>(X, "X").view();
    require(rows.cols() == machine.dim_in(), "X has {} columns, the model has {} inputs", rows.cols(),
            machine.dim_in());
    const auto apply = [&](const auto& map) {
      map.transform().apply(rows.data(), rows.cols(), rows.rows(), rows.cols(), rows.data());
    };
    std::visit(apply, machine.map());
    return nb::cast(to_numpy(std::move(rows)));
  });
}

nb::object frequencies(const Machine& self) {
  return self.visit([]<class T>(const KernelMachine<T>& machine) -> nb::object {
    const auto* map = std::get_if<FourierMap<T>>(&machine.map());
    return map ? nb::cast(to_numpy(Matrix<T>(map->frequencies()))) : nb::none();
  });
}

nb::dict report(const Machine& self) {
  return to_dict(self.visit([](const auto& m) -> const SolveReport& { return m.record().report; }));
}

// What the fit was asked, by the names of the estimator's parameters, and what it saw.
nb::dict record(const Machine& self) {
  const FitRecord& record = self.visit([](const auto& m) -> const FitRecord& { return m.record(); });
  nb::dict result;
  result["approximation"] = record.approximation;
  if (record.fourier()) result["n_components"] = record.n_components;
  result["sampling"] = sampling_name(record.sampling);
  result["loss"] = to_python(record.loss);
  const auto sketch = record.chosen_sketch();
  result["sketch"] = sketch ? to_python(*sketch) : nb::none();
  result["alpha"] = record.alpha;
  result["path"] = record.path ? nb::object(to_list(*record.path)) : nb::none();
  result["fit_intercept"] = record.fit_intercept;
  result["scale_inputs"] = record.scale_inputs;
  result["fill_missing"] = record.fill_missing;
  result["missing_targets"] = record.missing_targets;
  result["random_state"] = record.seed;
  result["evidence"] = record.evidence ? nb::object(nb::float_(*record.evidence)) : nb::none();
  result["input_names"] = record.input_names;
  result["target_names"] = record.target_names;
  return result;
}

}  // namespace

void bind_machine(nb::module_& m) {
  m.def("rows_from_device", &rows_from_device, nb::arg("X"));
  m.def("describe_dlpack", &describe_dlpack, nb::arg("array"));
  nb::class_<Machine> type(m, "Machine");
  def_saved<Machine>(
      type, [](const Machine& self, bool variances) { return to_file(self, KernelStorage::in_file, variances); });
  type.def_static("fit", &fit, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("options"),
                  nb::arg("threads") = 0, nb::arg("memory_budget") = 0, nb::arg("progress") = nb::none(),
                  nb::arg("communicator") = nb::none())
      .def("fit_further", &fit_further, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("threads") = 0,
           nb::arg("memory_budget") = 0)
      .def("merge", &merge, nb::arg("other"), nb::arg("threads") = 0)
      .def("predict", &predict, nb::arg("X"), nb::arg("threads") = 0, nb::arg("device") = "auto")
      .def("probabilities", &probabilities, nb::arg("X"), nb::arg("threads") = 0)
      .def("with_noise", &with_noise, nb::arg("variance"))
      .def("calibrated", &calibrated, nb::arg("scale"), nb::arg("power"), nb::arg("floor"))
      .def_prop_ro("calibration", &calibration)
      .def("predict_parts", &predict_parts, nb::arg("X"), nb::arg("threads") = 0)
      .def("deviation", &deviation, nb::arg("X"), nb::arg("threads") = 0)
      .def("derive", &derive, nb::arg("what"), nb::arg("X"), nb::arg("threads") = 0, nb::arg("encoder") = nb::none())
      .def("derived_deviation", &derived_deviation, nb::arg("what"), nb::arg("X"), nb::arg("threads") = 0,
           nb::arg("encoder") = nb::none())
      .def("covariance", &covariance, nb::arg("X"), nb::arg("threads") = 0)
      .def("interval", &interval, nb::arg("X"), nb::arg("coverage"), nb::arg("joint"), nb::arg("threads") = 0,
           "Low and high ends of each output: (n, 2 p).")
      .def("part_deviations", &part_deviations, nb::arg("X"), nb::arg("threads") = 0,
           "Deviations of what the terms of the kernel contribute, side by side: (n, terms p).")
      .def("sample", &sample, nb::arg("X"), nb::arg("draws"), nb::arg("seed"), nb::arg("threads") = 0,
           "Draws of the posterior, side by side: (n, draws p).")
      .def("transformed", &transformed, nb::arg("X"), "X filled and scaled, as the kernel sees it.")
      .def("__getstate__", &to_state)
      .def("__setstate__",
           [](Machine& self, const std::tuple<nb::bytes, nb::object>& state) {
             new (&self) Machine(from_state(std::get<0>(state), std::get<1>(state)));
           })
      .def_prop_ro("dtype",
                   [](const Machine& self) {
                     return self.visit([]<class T>(const KernelMachine<T>&) { return dtype_name<T>; });
                   })
      .def_prop_ro("dim_in", [](const Machine& self) { return self.visit([](const auto& m) { return m.dim_in(); }); })
      .def_prop_ro("dim_out", [](const Machine& self) { return self.visit([](const auto& m) { return m.dim_out(); }); })
      .def_prop_ro("kernel",
                   [](const Machine& self) { return self.visit([](const auto& m) { return to_python(m.kernel()); }); })
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
      .def_prop_ro("frequencies", &frequencies, "Of a Fourier machine; None for an exact one.")
      .def_prop_ro(
          "has_moments",
          [](const Machine& self) { return self.visit([](const auto& m) { return m.record().moments != nullptr; }); })
      .def_prop_ro(
          "noise",
          [](const Machine& self) -> nb::object {
            const Vector<double> noise = self.visit([](const auto& m) { return m.record().noise; });
            return noise.size() > 0 ? nb::cast(to_numpy(noise)) : nb::none();
          },
          "Variance of each output's noise, by rows left out; None where it is not known.")
      .def_prop_ro("why_no_deviation",
                   [](const Machine& self) {
                     return self.visit([](const auto& m) { return carmina::why_no_deviation(m.record()); });
                   })
      .def_prop_ro("why_no_interval",
                   [](const Machine& self) {
                     return self.visit([](const auto& m) { return carmina::why_no_interval(m.record()); });
                   })
      .def_prop_ro("output_names",
                   [](const Machine& self) {
                     return self.visit([](const auto& m) { return carmina::output_names(m.record(), m.dim_out()); });
                   })
      .def_prop_ro("report", &report)
      .def_prop_ro("record", &record);
  m.def(
      "load",
      [](const std::string& path) -> nb::object {
        const ModelFile file = [&] {
          const Unlocked unlocked;
          return read_model_file(path);
        }();
        const auto type = file.texts.find("type");
        if (type != file.texts.end() && type->second == "spectral_mixture") {
          return nb::cast(mixture_machine_from_file(file, path));
        }
        return nb::cast(from_file(file, path));
      },
      nb::arg("path"), "The machine in a file, of whatever type.");
  m.def("weights_of_noise", &noise_weights, nb::arg("variances"), nb::arg("weights"), nb::arg("chooses"));
  m.def("parse_bytes", [](const std::string& text) { return parse_bytes(text); }, nb::arg("text"));
}

}  // namespace carmina::python
