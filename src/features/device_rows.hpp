// features/device_rows.hpp -- the door for Fourier features that are made on a device: the maker beside MapRows.
#pragma once
#include "features/fourier_map.hpp"
#include "features/map_rows.hpp"

#include <memory>

namespace carmina {

// Rows whose sums and products with Fourier features a device computes; nothing where `execution` asks for none, where
// there is none, where "auto" finds that the CPU is as fast, or where the map has structured frequencies or phases.
// What a device does not compute (moments, Gram matrices, passes of an evidence) the CPU does.
template <Real T>
std::unique_ptr<FeatureRows> device_rows(const FourierMap<T>& map, const DataRows<T>& rows, const Execution& execution);

// Seconds that a fit is thought to take on 16 cores and on a device, by stored rates: n rows, d inputs, so many
// frequencies, q outputs. "auto" takes the device where that is the smaller: no clock and no number of threads decides.
struct PredictedSeconds {
  double cpu, device;
};
PredictedSeconds predict_seconds(double rows, double inputs, double units, double outputs, double scalar_bytes);

}  // namespace carmina
