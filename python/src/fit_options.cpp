// fit_options.cpp -- the options of a fit as a Python object, and the words that they may be.
#include <carmina/models/fit_options.hpp>
#include "core/words.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel_values.hpp"
#include "loss_values.hpp"
#include "sketch_values.hpp"

namespace carmina::python {
namespace {

constexpr Words<WidthRule, 3> width_rules{"gamma", {"auto", "median", "ard"}};

}  // namespace

void bind_fit_options(nb::module_& m) {
  nb::class_<FitOptions> type(m, "FitOptions");
  for (const NumberOption& number : number_options()) {
    std::visit([&](auto value) { type.def_rw(number.name, value); }, number.value);
  }
  type.def(nb::init<>())
      .def_prop_rw(
          "kernel", [](const FitOptions& o) { return o.kernel ? to_python(*o.kernel) : nb::none(); },
          [](FitOptions& o, const Kernel& kernel) { o.kernel = kernel; })
      .def_rw("kernel_name", &FitOptions::kernel_name)
      .def_rw("kernel_parameters", &FitOptions::kernel_parameters)
      .def_prop_rw(
          "length_scale",
          [](const FitOptions& o) -> std::optional<std::vector<double>> {
            if (!o.length_scale) return std::nullopt;
            return o.length_scale->values();
          },
          [](FitOptions& o, const std::vector<double>& widths) { o.length_scale = LengthScale(widths); })
      .def_prop_rw(
          "width", [](const FitOptions& o) { return width_rules.name(o.width); },
          [](FitOptions& o, const std::string& word) { o.width = width_rules.parse(word); })
      .def_prop_rw(
          "metric", [](const FitOptions& o) { return metric_name(o.metric); },
          [](FitOptions& o, const std::string& word) { o.metric = parse_metric(word); })
      .def_prop_rw(
          "output_matrix",
          [](const FitOptions& o) -> nb::object {
            const auto* matrix = std::get_if<OutputMatrix>(&o.coupling);
            return matrix ? nb::cast(to_numpy(Matrix<double>(matrix->A()))) : nb::none();
          },
          [](FitOptions& o, nb::handle A) { o.coupling = OutputMatrix(to_matrix(A, "fit: the output matrix")); },
          "A of a decomposable kernel, when the scalar one is given by name.")
      .def_prop_rw(
          "coupling", [](const FitOptions& o) { return coupling_name(o.coupling); },
          [](FitOptions& o, const std::string& word) { o.coupling = parse_coupling(word); },
          "How outputs go together, by a word, when the scalar kernel is given by name.")
      .def_prop_rw(
          "bounded", [](const FitOptions& o) { return has_bounded_features(o.coupling); },
          [](FitOptions& o, bool bounded) {
            o.coupling = parse_coupling(coupling_name(o.coupling), bounded, is_normalized(o.coupling));
          })
      .def_prop_rw(
          "normalized", [](const FitOptions& o) { return is_normalized(o.coupling); },
          [](FitOptions& o, bool normalized) {
            o.coupling = parse_coupling(coupling_name(o.coupling), has_bounded_features(o.coupling), normalized);
          })
      .def_rw("approximation", &FitOptions::approximation)
      .def_prop_rw(
          "sketch", [](const FitOptions& o) { return o.sketch ? to_python(*o.sketch) : nb::none(); },
          [](FitOptions& o, const SketchValue& value) { o.sketch = value.distribution; })
      .def_prop_rw(
          "loss", [](const FitOptions& o) { return to_python(o.loss); },
          [](FitOptions& o, const LossValue& value) {
            o.loss = value.loss;
            o.automatic_loss = value.automatic;
          })
      .def_rw("automatic_loss", &FitOptions::automatic_loss)
      .def_rw("n_components", &FitOptions::n_components)
      .def_prop_rw(
          "sampling", [](const FitOptions& o) { return sampling_name(o.sampling); },
          [](FitOptions& o, const std::string& name) { o.sampling = parse_sampling(name); })
      .def_rw("non_crossing", &FitOptions::non_crossing)
      .def_rw("alpha", &FitOptions::alpha)
      .def_rw("by_evidence", &FitOptions::by_evidence)
      .def_prop_rw(
          "alpha_by",
          [](const FitOptions& o) -> std::optional<std::string> {
            if (!o.alpha_by) return std::nullopt;
            return alpha_score_name(*o.alpha_by);
          },
          [](FitOptions& o, const std::string& score) { o.alpha_by = parse_alpha_score(score); })
      .def_rw("groups", &FitOptions::groups)
      .def_rw("contiguous", &FitOptions::contiguous)
      .def_rw("fit_intercept", &FitOptions::fit_intercept)
      .def_prop_rw(
          "scale_inputs", [](const FitOptions& o) { return input_scaling_name(o.scale_inputs); },
          [](FitOptions& o, const std::string& name) { o.scale_inputs = parse_input_scaling(name); })
      .def_rw("fill_missing", &FitOptions::fill_missing)
      .def_rw("solver", &FitOptions::solver)
      .def_rw("seed", &FitOptions::seed)
      .def_prop_rw(
          "checkpoint", [](const FitOptions& o) { return o.checkpoint.path; },
          [](FitOptions& o, const std::string& path) { o.checkpoint.path = path; })
      .def_prop_rw(
          "checkpoint_seconds", [](const FitOptions& o) { return o.checkpoint.seconds; },
          [](FitOptions& o, double seconds) { o.checkpoint.seconds = seconds; })
      .def_prop_rw(
          "device", [](const FitOptions& o) { return o.execution.device; },
          [](FitOptions& o, const std::string& device) { o.execution.device = device; })
      .def_prop_rw(
          "checkpoint_each", [](const FitOptions& o) { return o.checkpoint.each; },
          [](FitOptions& o, bool each) { o.checkpoint.each = each; })
      .def_rw("keep_moments", &FitOptions::keep_moments)
      .def_rw("estimate_noise", &FitOptions::estimate_noise)
      .def("moment_bytes", &FitOptions::moment_bytes, nb::arg("p"))
      .def_rw("input_names", &FitOptions::input_names)
      .def_rw("target_names", &FitOptions::target_names)
      .def_rw("wrapped_inputs", &FitOptions::wrapped_inputs)
      .def(
          "find_columns",
          [](FitOptions& o, const std::vector<Index>& firsts) {
            if (o.kernel) o.kernel = o.kernel->with_columns_found(o.input_names, firsts);
          },
          nb::arg("firsts") = std::vector<Index>(), "Columns of the kernel that are given by name, by number.")
      .def_prop_ro("fourier", &FitOptions::fourier)
      .def_prop_ro("exact", &FitOptions::exact)
      .def_prop_ro("learns_in_parts", &FitOptions::learns_in_parts)
      .def("without_choices", &FitOptions::without_choices,
           "The same with what \"auto\" stands for where nothing is chosen.")
      .def("with_moments", &FitOptions::with_moments, nb::arg("what"),
           "The same with sums over the rows kept, by a solver that has them.");
  m.def("approximation_names", &approximation_names);
  m.def("sampling_names", &sampling_names);
  m.def("solver_names", nb::overload_cast<>(&solver_names));
  m.def(
      "solver_names", [](const LossValue& loss) { return solver_names(loss.loss); }, nb::arg("loss"),
      "Those that some fit with this loss may ask for.");
}

}  // namespace carmina::python
