// mixture_machine.hpp -- the object around a learnt spectral mixture, for those who read files.
#pragma once
#include <carmina/data/input_encoder.hpp>
#include <carmina/models/spectral_mixture.hpp>
#include <memory>
#include <string>

#include "bindings.hpp"

namespace carmina::python {

// A machine, and the package's description of the estimator around it, which the file keeps too.
struct MixtureMachine {
  SpectralMixtureMachine machine;
  std::string estimator;                                  // JSON
  std::shared_ptr<const InputEncoder> encoder = nullptr;  // of frames; null: inputs are numbers
};
MixtureMachine mixture_machine_from_file(const ModelFile& file, const std::string& source);

}  // namespace carmina::python
