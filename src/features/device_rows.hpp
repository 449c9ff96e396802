// features/device_rows.hpp -- the door for Fourier features that are made on a device: the maker beside MapRows.
#pragma once
#include "features/device_product.hpp"
#include "features/fourier_map.hpp"
#include "features/map_rows.hpp"

#include <memory>

namespace carmina {

// Rows whose sums and products with Fourier features a device computes; nothing where `execution` asks for none, where
// there is none, where "auto" finds that the CPU is as fast, or where the map has structured frequencies or phases.
// What a device does not compute (passes of an evidence, sums with a checkpoint) the CPU does. Of several processes
// each has a device, round robin.
template <Real T>
std::unique_ptr<FeatureRows> device_rows(const FourierMap<T>& map, const DataRows<T>& rows, const Execution& execution);

}  // namespace carmina
