// models/machine/derived_plan.hpp -- which derivatives of which outputs make up what is asked for.
#pragma once
#include "features/derived_features.hpp"

#include <carmina/models/derived.hpp>

namespace carmina {

// Error where the machine has no such thing.
template <Real T>
DerivedPlan derived_plan(const KernelMachine<T>& machine, Derived what);

constexpr Index derived_rows_at_once = 128;

}  // namespace carmina
