// models/machine/derived_plan.hpp -- which derivatives of which outputs make up what is asked for.
#pragma once
#include "features/derived_features.hpp"

#include <carmina/models/derived.hpp>

#include <algorithm>

namespace carmina {

// Error where the machine has no such thing.
template <Real T>
DerivedPlan derived_plan(const KernelMachine<T>& machine, Derived what);

// Rows whose derivatives are made together: some 32 MB of them, with a number of every output, feature and basis.
inline Index derived_rows_at_once(const DerivedPlan& plan, Index features, Index outputs) {
  constexpr Index most = 128, numbers = Index{1} << 22;
  return std::clamp<Index>(numbers / (features * outputs * std::max<Index>(plan.bases, 1)), 1, most);
}

}  // namespace carmina
