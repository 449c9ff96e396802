// core/shared_objects.hpp -- parts of the library that are opened at run time, because not every machine has what they
// need.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace carmina {

// Of the program, or the shared object, that this code is part of: its folder, and those of an installation.
std::vector<std::filesystem::path> usual_folders();

struct SharedObject {
  void* handle = nullptr;  // it stays open
  std::string missing;     // why it is not; else empty

  void* function(const char* name) const;
};

// `file` in the first of the folders that has it.
SharedObject open_shared_object(const std::string& file, const std::vector<std::filesystem::path>& folders);

}  // namespace carmina
