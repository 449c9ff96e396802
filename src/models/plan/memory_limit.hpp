// models/plan/memory_limit.hpp -- how much memory may be used.
#pragma once
#include <carmina/core/execution.hpp>

namespace carmina {

// Bytes that may be used: the budget, or most of the machine's memory.
double memory_limit(const Execution& execution);

}  // namespace carmina
