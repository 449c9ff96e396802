// core/shared_objects.cpp -- where an installation may have them.
#include "core/shared_objects.hpp"

#include <carmina/core/error.hpp>

#include <dlfcn.h>

namespace carmina {

namespace fs = std::filesystem;

std::vector<fs::path> usual_folders() {
  Dl_info info{};
  static const char anchor = 0;
  if (dladdr(&anchor, &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  fs::path self = fs::canonical(info.dli_fname, ignored);
  if (ignored) self = fs::canonical("/proc/self/exe", ignored);
  const fs::path folder = self.parent_path();
  return {folder, folder.parent_path() / "lib", folder.parent_path()};
}

void* SharedObject::function(const char* name) const { return handle ? dlsym(handle, name) : nullptr; }

SharedObject open_shared_object(const std::string& file, const std::vector<fs::path>& folders) {
  std::string looked;
  for (const fs::path& at : folders) {
    std::error_code ignored;
    if (!fs::exists(at / file, ignored)) {
      looked += format_text("{}'{}'", looked.empty() ? "" : ", ", at.string());
      continue;
    }
    void* const handle = dlopen((at / file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) return {handle, {}};
    return {nullptr, format_text("'{}' cannot be opened: {}", (at / file).string(), dlerror())};
  }
  return {nullptr, format_text("{} is not in {}", file, looked)};
}

}  // namespace carmina
