// backends/cuda/backend.cpp -- where libcarmina_cuda.so may lie, and what is said where it does not.
#include "backends/cuda/backend.hpp"
#include "core/shared_objects.hpp"

#include <carmina/core/error.hpp>

#include <dlfcn.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace carmina::backend {
namespace {

namespace fs = std::filesystem;
constexpr const char* file_name = "libcarmina_cuda.so";

// The library, or why there is none.
struct Opened {
  const carmina_cuda_api* api = nullptr;
  std::string missing;
};

Opened open_file(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {nullptr, format_text("'{}' cannot be opened: {}", path.string(), dlerror())};
  using Table = const carmina_cuda_api* (*)(int);
  const auto table = reinterpret_cast<Table>(dlsym(library, "carmina_cuda"));
  const carmina_cuda_api* api = table ? table(carmina_cuda_version) : nullptr;
  if (api) return {api, {}};
  dlclose(library);
  return {nullptr, format_text("'{}' is of another version of Carmina; build both of one", path.string())};
}

Opened search(const std::string& folder) {
  std::vector<fs::path> folders = folder.empty() ? usual_folders() : std::vector<fs::path>{folder};
  // A Python package carmina_cuda lies beside the package carmina.
  if (folder.empty() && !folders.empty()) folders.push_back(folders.back() / "carmina_cuda");
  std::string looked;
  for (const fs::path& at : folders) {
    std::error_code ignored;
    if (fs::exists(at / file_name, ignored)) return open_file(at / file_name);
    looked += format_text("{}'{}'", looked.empty() ? "" : ", ", at.string());
  }
  if (folder.empty()) {
    const Opened system = open_file(file_name);  // where the system looks
    if (system.api) return system;
  }
  return {nullptr, format_text("{} is not in {}; build it (-DCARMINA_CUDA=ON) or name its folder (device_library)",
                               file_name, looked)};
}

// Opened once for each folder and kept: a device's state goes with the library.
const Opened& opened(const std::string& folder) {
  static std::mutex lock;
  static std::map<std::string, Opened> all;
  const std::lock_guard guard(lock);
  const auto found = all.find(folder);
  return found != all.end() ? found->second : all.emplace(folder, search(folder)).first->second;
}

// The device, or why there is none.
std::pair<std::optional<Device>, std::string> find(const Execution& execution, int number) {
  const Opened& library = opened(execution.device_library);
  if (!library.api) return {std::nullopt, library.missing};
  int count = 0;
  if (library.api->devices(&count) != 0) return {std::nullopt, library.api->error()};
  if (count == 0) return {std::nullopt, "this machine has no NVIDIA device, or no driver for it"};
  if (number >= count) return {std::nullopt, format_text("there are {} devices, numbered from 0", count)};
  Device device{library.api, number};
  if (library.api->describe(number, &device.facts) != 0) return {std::nullopt, library.api->error()};
  if (device.facts.major < 8) {
    return {std::nullopt, format_text("{} has compute capability {}.{}, and 8.0 is needed", device.facts.name,
                                      device.facts.major, device.facts.minor)};
  }
  return {device, {}};
}

}  // namespace

DeviceRequest parse_device(const std::string& word) {
  if (word == "auto") return {true, false, 0};
  if (word == "cpu") return {};
  if (word == "cuda") return {false, true, 0};
  constexpr std::string_view prefix = "cuda:";
  DeviceRequest request{false, true, 0};
  const char *begin = word.data() + prefix.size(), *end = word.data() + word.size();
  if (word.starts_with(prefix) && begin < end && *begin != '-') {
    const auto [last, code] = std::from_chars(begin, end, request.number);
    if (code == std::errc() && last == end) return request;
  }
  fail("device must be 'auto', 'cpu', 'cuda' or 'cuda:NUMBER', found '{}'", word);
}

std::string Device::name() const { return format_text("cuda:{}", number); }

std::optional<Device> find_device(const Execution& execution) {
  const DeviceRequest request = parse_device(execution.device);
  if (!request.cuda && !request.automatic) return std::nullopt;
  auto [device, missing] = find(execution, request.number);
  require(device || request.automatic, "device '{}': {}; or use device 'cpu'", execution.device, missing);
  return device;
}

void check_device(const Execution& execution) {
  if (!parse_device(execution.device).automatic) find_device(execution);
}

void require_done(const Device& device, int status) {
  require(status == 0, "device '{}': {}", device.name(), device.api->error());
}

DeviceHandle open_rows(const Device& device, const carmina_cuda_task& task) {
  DeviceHandle handle(device.api->open(&task), CloseRows{device.api});
  require(handle != nullptr, "device '{}': {}", device.name(), device.api->error());
  return handle;
}

}  // namespace carmina::backend
