// models/device_prediction.hpp -- predictions for rows that are in the memory of a device already.
#pragma once
#include <carmina/data/device_array.hpp>
#include <carmina/models/kernel_machine.hpp>

namespace carmina {

// (rows, dim_out) in the host's memory. Error where libcarmina_cuda.so is not, or the address is none of a device.
template <Real T>
Matrix<T> predict_on_device(const KernelMachine<T>& machine, const DeviceArray<T>& X, const Execution& execution = {});

}  // namespace carmina
