// features/scalar_maps.hpp -- the registry of scalar feature maps, which the operations on maps are compiled for.
#pragma once
#include "features/fourier_map.hpp"
#include "features/kernel_map.hpp"
#include "features/sketched_map.hpp"

#include <variant>

namespace carmina {

// The list: each(Map), with `between` in between. Explicit instantiations go over it too.
#define CARMINA_SCALAR_MAPS(each, between) \
  each(FourierMap) between each(KernelMap) \
  between each(SketchedMap)

#define CARMINA_COMMA ,
#define CARMINA_MAP_OF(Map) Map<T>
template <Real T>
using AnyScalarMap = std::variant<CARMINA_SCALAR_MAPS(CARMINA_MAP_OF, CARMINA_COMMA)>;
#undef CARMINA_MAP_OF
#undef CARMINA_COMMA

}  // namespace carmina
