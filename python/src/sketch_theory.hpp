// sketch_theory.hpp -- what theory.cpp binds of sketch_theory.cpp.
#pragma once
#include "bindings.hpp"

namespace carmina::python {

void bind_sketch_theory(nb::module_& m);

}  // namespace carmina::python
