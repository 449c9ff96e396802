// models/fit/resolve_kernel.hpp -- what the first pass over the rows decides: the input transform and the kernel.
#pragma once
#include "models/fit/summary.hpp"

#include <carmina/data/input_transform.hpp>
#include <carmina/models/fit_options.hpp>

namespace carmina {

// Fill, shift and scale as asked. `common_factor`: one factor for all inputs, whose derivatives then stay comparable.
InputTransform input_transform(const DataSummary& summary, const FitOptions& options, bool common_factor);

// The kernel given, or the one named, with the width given or the median distance between the (transformed) rows.
Kernel resolve_kernel(const DataSummary& summary, const InputTransform& transform, const FitOptions& options);

}  // namespace carmina
