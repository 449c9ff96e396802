// model_state.hpp -- files and pickles of fitted machines, with the package's description of the estimator around them.
#pragma once
#include <carmina/models/model_file.hpp>
#include <carmina/models/model_inputs.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "interpreter_lock.hpp"

namespace carmina::python {

inline std::string estimator_of(const ModelFile& file) {
  const auto text = file.texts.find("estimator");
  return text == file.texts.end() ? std::string() : text->second;
}

// The file of a machine with what stands around it.
template <class M>
ModelFile with_estimator(ModelFile file, const M& around) {
  if (!around.estimator.empty()) file.texts["estimator"] = around.estimator;
  if (around.encoder) put_encoder(file, *around.encoder);
  return file;
}

inline nb::bytes to_bytes(const ModelFile& file) {
  const std::vector<std::byte> bytes = encode_model(file);
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

inline ModelFile from_bytes(const nb::bytes& bytes) {
  std::vector<std::byte> copy(bytes.size());
  std::memcpy(copy.data(), bytes.c_str(), copy.size());
  return decode_model(copy, "pickled model");
}

// For a type with members `estimator` and `encoder`.
template <class M>
void def_saved(nb::class_<M>& type, ModelFile (*to_file)(const M&, bool variances)) {
  type.def_rw("estimator", &M::estimator, "The package's own description, kept in the file.")
      .def_prop_rw(
          "encoder", [](const M& self) { return self.encoder; },
          [](M& self, std::shared_ptr<const InputEncoder> encoder) { self.encoder = std::move(encoder); },
          nb::arg("encoder").none(), "What makes the inputs of the columns of a frame; None: they are numbers.")
      .def(
          "save",
          [to_file](const M& self, const std::string& path, bool variances) {
            const Unlocked unlocked;
            write_model_file(path, to_file(self, variances));
          },
          nb::arg("path"), nb::arg("variances") = false);
}

}  // namespace carmina::python
