// predict/no_device.cpp -- the prediction library computes on the CPU: a refusal in the place of device_product.cpp and
// backend.cpp.
#include "backends/cuda/backend.hpp"
#include "features/device_product.hpp"

#include <carmina/core/error.hpp>

namespace carmina {
namespace {

void refuse(const Execution& execution) {
  require(execution.device == "auto" || execution.device == "cpu",
          "device '{}': the prediction library computes on the CPU: link the whole library (carmina::carmina)",
          execution.device);
}

}  // namespace

template <Real T>
class ProductOnDevice {};

template <Real T>
bool apply_on_device(const FourierMap<T>&, DeviceSlot<T>&, ConstView<T>, ConstView<T>, View<T>,
                     const Execution& execution) {
  refuse(execution);
  return false;
}
template <Real T>
bool apply_on_device(const KernelMap<T>&, DeviceSlot<T>&, ConstView<T>, ConstView<T>, View<T>,
                     const Execution& execution) {
  refuse(execution);
  return false;
}
template <Real T>
bool apply_on_device(const FourierMap<T>&, DeviceSlot<T>&, const DeviceArray<T>&, ConstView<T>, View<T>,
                     const Execution& execution) {
  refuse(execution);
  return false;
}
template <Real T>
Matrix<T> rows_from_device(const DeviceArray<T>&, Index, Index, const Execution&) {
  fail("the prediction library takes rows in the host's memory: link the whole library (carmina::carmina)");
}
#define CARMINA_INSTANTIATE(T)                                                                                      \
  template bool apply_on_device(const FourierMap<T>&, DeviceSlot<T>&, ConstView<T>, ConstView<T>, View<T>,          \
                                const Execution&);                                                                  \
  template bool apply_on_device(const FourierMap<T>&, DeviceSlot<T>&, const DeviceArray<T>&, ConstView<T>, View<T>, \
                                const Execution&);                                                                  \
  template bool apply_on_device(const KernelMap<T>&, DeviceSlot<T>&, ConstView<T>, ConstView<T>, View<T>,           \
                                const Execution&);                                                                  \
  template Matrix<T> rows_from_device(const DeviceArray<T>&, Index, Index, const Execution&);
CARMINA_INSTANTIATE(float)
CARMINA_INSTANTIATE(double)
#undef CARMINA_INSTANTIATE

namespace backend {

std::optional<bool> factor_on_device(Index, double*, Index, const Execution& execution) {
  refuse(execution);
  return std::nullopt;
}

}  // namespace backend
}  // namespace carmina
