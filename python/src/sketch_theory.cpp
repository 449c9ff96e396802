// sketch_theory.cpp -- critical radii, K-satisfiability and bounds of sketched machines;
// python/carmina/_sketch_theory.py documents them.
#include <carmina/theory/sketching.hpp>

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "kernel_values.hpp"
#include "running.hpp"
#include "sketch_theory.hpp"
#include "sketch_values.hpp"

namespace carmina::python {
namespace {

using theory::CriticalRadius;

Vector<double> to_vector(nb::handle values) {
  const auto array = nb::cast<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(
      numpy().attr("ascontiguousarray")(values, "float64"));
  require(array.ndim() == 1, "eigenvalues must have one dimension, found {}", array.ndim());
  return Eigen::Map<const Vector<double>>(array.data(), static_cast<Index>(array.size()));
}

// The scalar kernel behind the outputs.
const ScalarKernel& scalar_of(const Kernel& kernel) {
  const Term* term = kernel.separable();
  require(term != nullptr && term->weight == 1,
          "theory: sketches are of one scalar kernel, alone or in Decomposable: sums and multiples are not supported");
  return term->scalar;
}

nb::dict to_dict(const theory::KSatisfiability& found) {
  nb::dict out;
  out["n"] = found.spectrum.n;
  out["radius"] = found.spectrum.radius;
  out["statistical_dimension"] = found.spectrum.statistical_dimension;
  out["isometry_error"] = found.isometry_error;
  out["tail_norm"] = found.tail_norm;
  out["c"] = found.c;
  out["largest_c"] = found.largest_c;
  out["holds"] = found.holds;
  return out;
}

nb::tuple to_tuple(const theory::RiskBound& bound) {
  return nb::make_tuple(bound.value, bound.approximation, bound.generalization, bound.probability, bound.proven,
                        bound.note);
}

nb::tuple to_tuple(const theory::SketchSize& size) {
  return nb::make_tuple(size.n_components, size.density, size.expected_anchors, size.proven);
}

theory::RiskSetting setting_of(bool squared, double alpha, double lipschitz, double kernel_bound, nb::handle M,
                               double probability) {
  return {.loss = squared ? theory::RiskLoss::squared : theory::RiskLoss::lipschitz,
          .alpha = alpha,
          .lipschitz = lipschitz,
          .kernel_bound = kernel_bound,
          .outputs = to_matrix(M, "M"),
          .probability = probability};
}

theory::Entries entries_of(bool gaussian) { return gaussian ? theory::Entries::gaussian : theory::Entries::rademacher; }

}  // namespace

void bind_sketch_theory(nb::module_& m) {
  m.def("kernel_eigenvalues", [](const Kernel& kernel, nb::handle X) {
    const Rows<double> rows(X, "X");
    return to_numpy(run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
      return theory::kernel_eigenvalues(scalar_of(kernel), rows.view(), execution);
    }));
  });
  m.def("critical_radius", [](nb::handle eigenvalues) {
    const CriticalRadius found = theory::critical_radius(to_vector(eigenvalues));
    return nb::make_tuple(found.n, found.radius, found.statistical_dimension);
  });
  m.def("k_satisfiability", [](const sketches::Sketch& sketch, nb::handle K, double largest_c) {
    const Matrix<double> values = to_matrix(K, "K");
    return to_dict(run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
      return theory::k_satisfiability(sketch, values, largest_c, execution);
    }));
  });
  m.def("k_satisfiability", [](const sketches::Sketch& sketch, const Kernel& kernel, nb::handle X, double largest_c) {
    const Rows<double> rows(X, "X");
    return to_dict(run(make_execution(0, 0, nb::none()), [&](const Execution& execution) {
      return theory::k_satisfiability(sketch, scalar_of(kernel), rows.view(), largest_c, execution);
    }));
  });
  m.def("satisfiability_constant", [](double density, bool gaussian, bool as_printed) {
    return as_printed ? theory::satisfiability_constant_as_printed(density)
                      : theory::satisfiability_constant(density, entries_of(gaussian));
  });
  m.def("excess_risk_bound", [](Index n, double radius, Index d, double c, bool squared, double alpha, double lipschitz,
                                double kernel_bound, nb::handle M, double probability) {
    return to_tuple(theory::excess_risk_bound({n, radius, d}, c,
                                              setting_of(squared, alpha, lipschitz, kernel_bound, M, probability)));
  });
  m.def("sparse_sketch_bound", [](Index n, double radius, Index d, Index n_components, double density, bool gaussian,
                                  bool squared, double alpha, double lipschitz, double kernel_bound, nb::handle M,
                                  double probability) {
    return to_tuple(theory::sparse_sketch_bound({n, radius, d}, n_components, density, entries_of(gaussian),
                                                setting_of(squared, alpha, lipschitz, kernel_bound, M, probability)));
  });
  m.def("refined_excess_risk_bound", [](nb::handle eigenvalues, double c, double alpha, double lipschitz,
                                        double kernel_bound, double probability, double B, double D, double C1,
                                        double C2, double C3, double b2) {
    theory::RiskSetting setting;
    setting.alpha = alpha;
    setting.lipschitz = lipschitz;
    setting.kernel_bound = kernel_bound;
    setting.probability = probability;
    return to_tuple(theory::refined_excess_risk_bound(to_vector(eigenvalues), c, setting, {B, D, C1, C2, C3, b2}));
  });
  m.def("sketch_components_needed", [](Index n, double radius, Index d, double density) {
    return theory::sketch_components_needed({n, radius, d}, density);
  });
  m.def("sketch_failure", [](Index n_components, double density, bool gaussian) {
    return theory::sketch_failure(n_components, density, entries_of(gaussian));
  });
  m.def("suggest_sketch", [](Index n, double radius, Index d) {
    const theory::SketchSuggestion found = theory::suggest_sketch({n, radius, d});
    return nb::make_tuple(to_tuple(found.proved), to_tuple(found.practical), found.text);
  });
}

}  // namespace carmina::python
