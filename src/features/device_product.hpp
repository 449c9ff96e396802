// features/device_product.hpp -- products of rows with features on a device: predictions.
#pragma once
#include "backends/cuda/carmina_cuda.h"
#include "features/fourier_map.hpp"
#include "features/kernel_map.hpp"

#include <carmina/core/execution.hpp>

#include <carmina/data/device_array.hpp>

#include <concepts>
#include <memory>
#include <mutex>

namespace carmina {

// Whether a device has this map's features: a cosine and a sine of each of its frequencies.
template <Real T>
bool made_on_devices(const FourierMap<T>& map) {
  return !map.structured() && map.phases().size() == 0 && map.amplitudes().empty();
}

// Values of kernels at anchors: Gaussian, Laplacian, Matern with nu of 1/2, 3/2 and 5/2, rational quadratic.
template <Real T>
bool made_on_devices(const KernelMap<T>& map);

// Frequencies above what halves hold take phases in double.
template <Real T>
carmina_cuda_precision precision_on_device(const FourierMap<T>& map) {
  if (std::same_as<T, double>) return carmina_cuda_double;
  const auto largest = static_cast<double>(map.frequencies().cwiseAbs().maxCoeff());
  return largest > largest_float_frequency ? carmina_cuda_wide : carmina_cuda_split;
}

// Seconds that so many passes over n rows are thought to take on 16 cores and on a device, by stored rates: d inputs,
// so many frequencies, q outputs. "auto" takes the device where that is the smaller: no clock and no number of threads
// decides.
struct PredictedSeconds {
  double cpu, device;
};
constexpr double passes_of_fit = 12, passes_of_prediction = 0.5;
PredictedSeconds predict_seconds(double rows, double inputs, double units, double outputs, double scalar_bytes,
                                 double passes = passes_of_fit);

template <Real T>
class ProductOnDevice;

// What a map has on a device, from one prediction to the next. A prediction that finds it taken makes its own.
template <Real T>
struct DeviceSlot {
  std::mutex taken;
  std::shared_ptr<ProductOnDevice<T>> kept;
};

// out (n, q) = phi(X) theta, or k(X, Z) theta, on a device. False: `execution` asks for none, there is none, or "auto"
// finds that the CPU is as fast; nothing is done then. A row has the same bits alone and in any batch: one whose inputs
// the products of halves do not hold is computed by the CPU.
template <Real T>
bool apply_on_device(const FourierMap<T>& map, DeviceSlot<T>& slot, ConstView<T> X, ConstView<T> theta, View<T> out,
                     const Execution& execution);
template <Real T>
bool apply_on_device(const KernelMap<T>& map, DeviceSlot<T>& slot, ConstView<T> X, ConstView<T> theta, View<T> out,
                     const Execution& execution);
// The same of inputs that are on the device. False where `execution` asks for the CPU, or the map is not made there.
template <Real T>
bool apply_on_device(const FourierMap<T>& map, DeviceSlot<T>& slot, const DeviceArray<T>& X, ConstView<T> theta,
                     View<T> out, const Execution& execution);
// Rows [first, first + count) of them in the host's memory.
template <Real T>
Matrix<T> rows_from_device(const DeviceArray<T>& X, Index first, Index count, const Execution& execution);

}  // namespace carmina
