// models/machine/machine_map.hpp -- the feature map of a kernel machine: Fourier features, a scalar kernel at kept
// rows, or an operator-valued one.
#pragma once
#include "features/device_product.hpp"
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

  // What predictions have on a device.
  std::shared_ptr<DeviceSlot<T>> on_device = std::make_shared<DeviceSlot<T>>();
};

template <Real T>
std::shared_ptr<const MachineMap<T>> share_map(MachineMap<T> map) {
  return std::make_shared<const MachineMap<T>>(std::move(map));
}

}  // namespace carmina
