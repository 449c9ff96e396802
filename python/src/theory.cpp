// theory.cpp -- variances and bounds of Fourier maps, and measured errors; python/carmina/theory.py documents them.
#include <carmina/theory/approximation.hpp>
#include <carmina/theory/fourier.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "running.hpp"
#include "sketch_theory.hpp"

namespace carmina::python {
namespace {

Vector<double> to_vector(nb::handle values, const char* name) {
  const nb::object array = as_array<double>(values);
  const auto dimensions = nb::cast<int>(array.attr("ndim"));
  require(dimensions == 1, "{} must be one-dimensional, found {} dimensions", name, dimensions);
  Vector<double> out(nb::cast<Index>(array.attr("shape")[nb::int_(0)]));
  for (Index i = 0; i < out.size(); ++i) out[i] = nb::cast<double>(array.attr("item")(i));
  return out;
}

theory::Slope slope_of(bool rigorous) { return rigorous ? theory::Slope::rigorous : theory::Slope::as_printed; }

nb::dict to_dict(const theory::ApproximationReport& report) {
  nb::dict out;
  out["rows"] = report.rows;
  out["pairs"] = report.pairs;
  out["n_components"] = report.n_components;
  out["confidence"] = report.confidence;
  out["kernel_norm"] = report.kernel_norm;
  out["rms_error"] = report.rms_error;
  out["rms_interval"] = nb::make_tuple(report.rms_interval.low, report.rms_interval.high);
  out["max_error"] = report.max_error;
  out["tolerance"] = report.tolerance;
  out["within"] = report.within;
  out["within_interval"] = nb::make_tuple(report.within_interval.low, report.within_interval.high);
  out["n_components_to_halve"] = report.n_components_to_halve;
  out["n_components_for_tolerance"] = report.n_components_for_tolerance;
  out["text"] = report.text;
  return out;
}

void bind_variance(nb::module_& m) {
  m.def(
      "spectral_moments",
      [](const Kernel& kernel, Index dim_in) {
        theory::SpectralMoments moments = theory::spectral_moments(kernel, dim_in);
        return nb::make_tuple(to_numpy(std::move(moments.mean)), to_numpy(std::move(moments.variance)));
      },
      nb::arg("kernel"), nb::arg("dim_in"));
  m.def(
      "variance",
      [](const Kernel& kernel, nb::handle delta) { return theory::variance(kernel, to_vector(delta, "delta")); },
      nb::arg("kernel"), nb::arg("delta"));
  m.def(
      "variance_bound",
      [](const Kernel& kernel, nb::handle delta) { return theory::variance_bound(kernel, to_vector(delta, "delta")); },
      nb::arg("kernel"), nb::arg("delta"));
  m.def("variance_supremum", &theory::variance_supremum, nb::arg("kernel"), nb::arg("dim_in"), nb::arg("diameter"));
  m.def("orlicz_norm", &theory::orlicz_norm, nb::arg("kernel"), nb::arg("dim_in"));
}

void bind_bounds(nb::module_& m) {
  m.def(
      "uniform_bound",
      [](const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components, bool rigorous) {
        return theory::uniform_bound(kernel, dim_in, diameter, epsilon, n_components, slope_of(rigorous));
      },
      nb::arg("kernel"), nb::arg("dim_in"), nb::arg("diameter"), nb::arg("epsilon"), nb::arg("n_components"),
      nb::arg("rigorous"));
  m.def(
      "pointwise_bound",
      [](const Kernel& kernel, nb::handle delta, double epsilon, Index n_components) {
        return theory::pointwise_bound(kernel, to_vector(delta, "delta"), epsilon, n_components);
      },
      nb::arg("kernel"), nb::arg("delta"), nb::arg("epsilon"), nb::arg("n_components"));
  m.def(
      "decomposable_bound",
      [](const Kernel& kernel, Index dim_in, double diameter, double epsilon, Index n_components, bool sharp,
         bool rigorous) {
        return theory::decomposable_bound(kernel, dim_in, diameter, epsilon, n_components,
                                          sharp ? theory::ScalarForm::sharp : theory::ScalarForm::classical,
                                          slope_of(rigorous));
      },
      nb::arg("kernel"), nb::arg("dim_in"), nb::arg("diameter"), nb::arg("epsilon"), nb::arg("n_components"),
      nb::arg("sharp"), nb::arg("rigorous"));
  m.def(
      "components_needed",
      [](const Kernel& kernel, Index dim_in, double diameter, double epsilon, double probability, bool uniform) {
        return theory::components_needed(kernel, dim_in, diameter, epsilon, probability,
                                         uniform ? theory::Guarantee::uniform : theory::Guarantee::pointwise);
      },
      nb::arg("kernel"), nb::arg("dim_in"), nb::arg("diameter"), nb::arg("epsilon"), nb::arg("probability"),
      nb::arg("uniform"));
}

void bind_mixture_bounds(nb::module_& m) {
  m.def(
      "mixture_bound",
      [](nb::handle weights, nb::handle means, nb::handle scales, const std::vector<Index>& counts, double diameter,
         double epsilon, const std::string& family) {
        const Mixture mixture{to_vector(weights, "weights"), to_matrix(means, "means"), to_matrix(scales, "scales"),
                              make_mixture_family(family)};
        return theory::mixture_uniform_bound(mixture, counts, diameter, epsilon);
      },
      nb::arg("weights"), nb::arg("means"), nb::arg("scales"), nb::arg("counts"), nb::arg("diameter"),
      nb::arg("epsilon"), nb::arg("family"));
  m.def(
      "mixture_pointwise_bound",
      [](nb::handle weights, const std::vector<Index>& counts, double epsilon) {
        return theory::mixture_pointwise_bound(to_vector(weights, "weights"), counts, epsilon);
      },
      nb::arg("weights"), nb::arg("counts"), nb::arg("epsilon"));
}

}  // namespace

void bind_theory(nb::module_& m) {
  bind_variance(m);
  bind_bounds(m);
  bind_mixture_bounds(m);
  bind_sketch_theory(m);
  m.def(
      "kernel_error",
      [](const Kernel& kernel, nb::handle frequencies, nb::handle X, nb::handle Z) {
        const Matrix<double> W = to_matrix(frequencies, "frequencies");
        const Rows<double> x(X, "X"), z(Z, "Z");
        const theory::KernelError error = run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
          return theory::kernel_error(kernel, W, x.view(), z.view(), execution);
        });
        return nb::make_tuple(error.max, error.rms, error.pairs);
      },
      nb::arg("kernel"), nb::arg("frequencies"), nb::arg("X"), nb::arg("Z"));
  m.def(
      "approximation_report",
      [](const Kernel& kernel, nb::handle frequencies, nb::handle X, Index pairs, double tolerance, double confidence,
         std::uint64_t seed) {
        const Matrix<double> W = to_matrix(frequencies, "frequencies");
        const Rows<double> x(X, "X");
        return to_dict(run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
          return theory::approximation_report(kernel, W, x.view(), {pairs, tolerance, confidence, seed}, execution);
        }));
      },
      nb::arg("kernel"), nb::arg("frequencies"), nb::arg("X"), nb::arg("pairs"), nb::arg("tolerance"),
      nb::arg("confidence"), nb::arg("seed"));
  m.def(
      "operator_cost",
      [](const Kernel& kernel, Index n_components, nb::handle X, int repetitions, int threads) {
        const Rows<double> x(X, "X");
        const theory::OperatorCost cost = run(make_execution(threads, 0, nb::none()), [&](const Execution& execution) {
          return theory::operator_cost(kernel, n_components, x.view(), repetitions, execution);
        });
        nb::dict out;
        out["apply"] = cost.apply;
        out["adjoint"] = cost.adjoint;
        out["normal"] = cost.normal;
        out["stored"] = cost.stored;
        return out;
      },
      nb::arg("kernel"), nb::arg("n_components"), nb::arg("X"), nb::arg("repetitions"), nb::arg("threads"));
}

}  // namespace carmina::python
