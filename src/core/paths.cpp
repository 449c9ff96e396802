// core/paths.cpp -- names that no file can have.
#include "core/paths.hpp"

#include <carmina/core/error.hpp>

namespace carmina {

void check_path(const char* verb, const std::string& path) {
  require(!path.empty(), "cannot {} a file: its name is empty", verb);
  const std::size_t nul = path.find('\0');
  require(nul == std::string::npos, "cannot {} '{}': a NUL byte follows in its name", verb, path.substr(0, nul));
}

}  // namespace carmina
