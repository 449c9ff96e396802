// machine.hpp -- a fitted kernel machine of either precision, as the extension module holds it.
#pragma once
#include <carmina/data/input_encoder.hpp>
#include <carmina/models/kernel_machine.hpp>
#include <carmina/models/posterior.hpp>

#include "bindings.hpp"

namespace carmina::python {

// A machine, and the package's description of the estimator around it, which the file keeps too.
struct Machine {
  AnyKernelMachine machine;
  std::string estimator;                                  // JSON; empty when the command line wrote the file
  std::shared_ptr<const InputEncoder> encoder = nullptr;  // of frames; null: inputs are numbers
  // In the machine's precision, made when first asked for.
  mutable std::shared_ptr<const Posterior<float>> posterior_float = nullptr;
  mutable std::shared_ptr<const Posterior<double>> posterior_double = nullptr;

  template <class F>
  auto visit(F&& f) const {
    return std::visit(std::forward<F>(f), machine);
  }
};

nb::list to_list(const std::vector<PathPoint>& points);

}  // namespace carmina::python
