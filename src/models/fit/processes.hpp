// models/fit/processes.hpp -- what processes that fit one model together must have in common.
#pragma once
#include <carmina/core/communicator.hpp>
#include <carmina/core/execution.hpp>

namespace carmina {

// All plan for the smallest memory among them. Error where they have different versions of the library, or of its loops
// for the processor: what each computes for itself would differ.
void agree_on(Execution& execution, const Communicator& processes);

}  // namespace carmina
