// backends/cuda/backend.cpp -- where libcarmina_cuda.so may lie, and what is said where it does not.
#include "backends/cuda/backend.hpp"
#include "core/shared_objects.hpp"

#include <carmina/core/error.hpp>

#include <dlfcn.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
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

Opened search(const std::string& named) {
  const char* const variable = std::getenv("CARMINA_DEVICE_LIBRARY");
  const std::string folder = named.empty() && variable ? variable : named;
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
  return {nullptr, format_text("{} is not in {}; install the package carmina-cuda, or build it "
                               "(-DCARMINA_CUDA=ON) and name its folder (device_library, CARMINA_DEVICE_LIBRARY)",
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
  DeviceRequest request{false, true, 0, true};
  const char *begin = word.data() + prefix.size(), *end = word.data() + word.size();
  if (word.starts_with(prefix) && begin < end && *begin != '-') {
    const auto [last, code] = std::from_chars(begin, end, request.number);
    if (code == std::errc() && last == end) return request;
  }
  fail("device must be 'auto', 'cpu', 'cuda' or 'cuda:NUMBER', found '{}'", word);
}

std::string Device::name() const { return format_text("cuda:{}", number); }

namespace {

// Of the processes on this machine, by their order: how many come before this one.
int place_on_machine(const Communicator& processes) {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::size_t own = std::hash<std::string>()(name);
  const std::vector<std::size_t> all = processes.gather(std::vector<std::size_t>{own});
  return static_cast<int>(std::count(all.begin(), all.begin() + processes.rank(), own));
}

// Numbers of those that can be used.
std::vector<int> usable_devices(const Execution& execution) {
  const Opened& library = opened(execution.device_library);
  int count = 0;
  if (!library.api || library.api->devices(&count) != 0) count = 0;
  std::vector<int> usable;
  for (int number = 0; number < count; ++number) {
    if (find(execution, number).first) usable.push_back(number);
  }
  return usable;
}

}  // namespace

std::optional<Device> find_device(const Execution& execution, const Communicator* processes) {
  DeviceRequest request = parse_device(execution.device);
  if (!request.cuda && !request.automatic) return std::nullopt;
  if (processes && !request.numbered) {
    const int place = place_on_machine(*processes);
    const std::vector<int> usable = usable_devices(execution);
    if (!usable.empty()) request.number = usable[static_cast<std::size_t>(place) % usable.size()];
  }
  auto [device, missing] = find(execution, request.number);
  require(device || request.automatic, "device '{}': {}; or use device 'cpu'", execution.device, missing);
  return device;
}

Device device_of(const void* address, const Execution& execution) {
  const Opened& library = opened(execution.device_library);
  require(library.api != nullptr, "rows on a device: {}; or copy them to the host", library.missing);
  int number = -1;
  require(library.api->holder(address, &number) == 0, "rows on a device: {}", library.api->error());
  require(number >= 0, "rows on a device: the address is in no device's memory");
  auto [device, missing] = find(execution, number);
  require(device.has_value(), "rows on device 'cuda:{}': {}; copy them to the host", number, missing);
  return *device;
}

// An H200 factors at about 10 TFLOP/s, 16 cores at 0.5; the triangle goes there and back at about 4 GB/s.
std::optional<bool> factor_on_device(Index order, double* A, Index lda, const Execution& execution) {
  constexpr Index smallest = 2048;
  const DeviceRequest request = parse_device(execution.device);
  if (order < smallest || (!request.cuda && !request.automatic)) return std::nullopt;
  const double n = static_cast<double>(order), work = n * n * n / 3;
  if (request.automatic && work / 5e11 <= 0.5 + work / 1e13 + 16 * n * n / 4e9) return std::nullopt;
  const std::optional<Device> device = find_device(execution);
  if (!device || static_cast<double>(device->facts.free_bytes) < 9 * n * n) return std::nullopt;
  int positive = 0;
  require_done(*device, device->api->factor(device->number, order, A, lda, &positive));
  return positive != 0;
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
