// module.cpp -- the extension module carmina._core: its parts, and how the library's errors look in Python.
#include <carmina/core/error.hpp>
#include <exception>

#include "bindings.hpp"
#include "interpreter_lock.hpp"

namespace {

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const carmina::Error& misuse) {
    PyErr_SetString(PyExc_ValueError, misuse.what());
  } catch (const carmina::Cancelled&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The C++ library behind the package carmina; its names may change, the package's do not.";
  m.attr("__version__") = CARMINA_VERSION;
  nanobind::register_exception_translator(translate);
  carmina::python::bind_interpreter_lock(m);
  carmina::python::bind_kernels(m);
  carmina::python::bind_outputs(m);
  carmina::python::bind_losses(m);
  carmina::python::bind_sketches(m);
  carmina::python::bind_data(m);
  carmina::python::bind_features(m);
  carmina::python::bind_fit_options(m);
  carmina::python::bind_processes(m);
  carmina::python::bind_alpha_path(m);
  carmina::python::bind_machine(m);
  carmina::python::bind_mixture_machine(m);
  carmina::python::bind_running(m);
  carmina::python::bind_tuning(m);
  carmina::python::bind_theory(m);
}
