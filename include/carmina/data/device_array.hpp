// data/device_array.hpp -- rows of inputs that are in the memory of a device already: of CUDA, of CuPy, PyTorch, JAX.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/data/rows.hpp>
#include <memory>

namespace carmina {

// (rows, columns), row stride in numbers. Borrowed: whoever made it has it, and changes nothing meanwhile.
template <Real T>
struct DeviceArray {
  const T* data = nullptr;
  Index rows = 0, columns = 0, stride = 0;
};

// The same as a source of rows, with targets and weights (null: one) in the host's memory. What the device computes
// takes the inputs where they are; what the CPU does, such as means and deviations, gets copies block by block.
// `execution`: where libcarmina_cuda.so is. Error where it is not, or the address is none of a device.
template <Real T>
std::unique_ptr<RowSource<T>> rows_on_device(const DeviceArray<T>& X, ConstView<T> Y, const T* weights = nullptr,
                                             const Execution& execution = {});
// A copy in the host's memory.
template <Real T>
Matrix<T> copy_from_device(const DeviceArray<T>& X, const Execution& execution = {});

}  // namespace carmina
