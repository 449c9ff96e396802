// models/machine/machine_map.hpp -- the feature map of a kernel machine: Fourier features, a scalar kernel at kept
// rows, or an operator-valued one.
#pragma once
#include "features/fourier_map.hpp"
#include "features/kernel_map.hpp"
#include "features/operator_map.hpp"

#include <carmina/models/kernel_machine.hpp>

#include <memory>
#include <variant>

namespace carmina {

// A type of its own, so that the machine's header can name it without the maps.
template <Real T>
struct MachineMap : std::variant<FourierMap<T>, KernelMap<T>, OperatorMap<T>> {
  using std::variant<FourierMap<T>, KernelMap<T>, OperatorMap<T>>::variant;
};

template <Real T>
std::shared_ptr<const MachineMap<T>> share_map(MachineMap<T> map) {
  return std::make_shared<const MachineMap<T>>(std::move(map));
}

}  // namespace carmina
