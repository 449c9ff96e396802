// models/plan/memory_limit.cpp -- how much memory may be used.
#include "models/plan/memory_limit.hpp"

#include <unistd.h>

namespace carmina {

double memory_limit(const Execution& execution) {
  if (execution.memory_budget > 0) return static_cast<double>(execution.memory_budget);
  return 0.8 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace carmina
