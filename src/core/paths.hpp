// core/paths.hpp -- what is asked of the name of a file before the system sees it.
#pragma once
#include <string>

namespace carmina {

// Error "cannot VERB '...'" for a name that is empty or has a NUL byte, at which the system would cut it off.
void check_path(const char* verb, const std::string& path);

}  // namespace carmina
