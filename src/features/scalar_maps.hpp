// features/scalar_maps.hpp -- the registry of scalar feature maps, which the operations on maps are compiled for.
#pragma once
#include "features/fourier_map.hpp"
#include "features/kernel_map.hpp"
#include "features/sketched_map.hpp"

#include <variant>

namespace carmina {

template <Real T>
using AnyScalarMap = std::variant<FourierMap<T>, KernelMap<T>, SketchedMap<T>>;

}  // namespace carmina
