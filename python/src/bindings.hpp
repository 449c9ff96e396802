// bindings.hpp -- what the parts of the extension module share: the list of them, and its namespace's short
// name.
#pragma once
#include <nanobind/nanobind.h>

namespace carmina::python {

namespace nb = nanobind;

void bind_kernels(nb::module_& m);
void bind_outputs(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_sketches(nb::module_& m);
void bind_data(nb::module_& m);
void bind_features(nb::module_& m);
void bind_fit_options(nb::module_& m);
void bind_alpha_path(nb::module_& m);
void bind_machine(nb::module_& m);
void bind_mixture_machine(nb::module_& m);
void bind_processes(nb::module_& m);
void bind_running(nb::module_& m);
void bind_tuning(nb::module_& m);
void bind_theory(nb::module_& m);

}  // namespace carmina::python
