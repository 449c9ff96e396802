// onnx.cpp -- fitted machines as the bytes of an ONNX model.
#include <carmina/models/onnx.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "interpreter_lock.hpp"
#include "machine.hpp"
#include "mixture_machine.hpp"

namespace carmina::python {
namespace {

using Labels = std::variant<std::vector<std::string>, std::vector<std::int64_t>>;

template <class M>
nb::bytes onnx_of(const M& self, bool deviations, nb::handle labels) {
  OnnxOptions options;
  options.deviations = deviations;
  if (!labels.is_none()) {
    std::visit([&](auto& list) { options.labels = std::move(list); },
               *std::make_unique<Labels>(nb::cast<Labels>(labels)));
  }
  const std::string bytes = [&] {
    const Unlocked unlocked;
    return to_onnx(Predictor(self.machine, self.encoder), options);
  }();
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_onnx(nb::module_& m) {
  m.def("to_onnx", &onnx_of<Machine>, nb::arg("machine"), nb::arg("deviations"), nb::arg("labels").none());
  m.def("to_onnx", &onnx_of<MixtureMachine>, nb::arg("machine"), nb::arg("deviations"), nb::arg("labels").none());
}

}  // namespace carmina::python
