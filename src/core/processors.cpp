// core/processors.cpp -- affinity mask, control groups (versions 1 and 2), and what runs workers beside this one.
#include "core/processors.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace carmina {
namespace {

namespace fs = std::filesystem;
constexpr double no_quota = std::numeric_limits<double>::infinity();

// "max 100000" or "50000 100000": microseconds of a period.
double quota_v2(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : no_quota;
}

double quota_v1(const fs::path& folder) {
  std::ifstream quotas(folder / "cpu.cfs_quota_us"), periods(folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quotas >> quota && periods >> period && quota > 0 && period > 0 ? quota / period : no_quota;
}

// The least of a group and the groups around it. A container sees its own group as the root, whatever its name is.
template <class Read>
double least_quota(const fs::path& mount, const fs::path& group, const Read& read) {
  double least = read(mount);
  fs::path folder = mount;
  for (const fs::path& part : group.relative_path()) {
    folder /= part;
    least = std::min(least, read(folder));
  }
  return least;
}

int limit_from(const char* name) {
  const char* text = std::getenv(name);
  int value = 0;
  if (text) std::from_chars(text, text + std::strlen(text), value);  // "4,2": the outermost level
  return value;
}

}  // namespace

double processor_quota(const fs::path& root) {
  double least = no_quota;
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:group
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, least_quota(mounts, group, quota_v2));
    if (controllers.find(",cpu,") == std::string::npos) continue;
    for (const char* mount : {"cpu", "cpu,cpuacct"}) {
      least = std::min(least, least_quota(mounts / mount, group, quota_v1));
    }
  }
  return least;
}

int usable_processors() {
  static const int count = [] {
    int most = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));  // of the affinity mask
    const double quota = processor_quota();
    if (quota < most) most = static_cast<int>(std::ceil(quota));
    if (const int limit = limit_from("OMP_NUM_THREADS"); limit > 0) most = std::min(most, limit);
    if (const int workers = limit_from("PYTEST_XDIST_WORKER_COUNT"); workers > 0) most = most / workers;
    return std::max(1, most);
  }();
  return count;
}

}  // namespace carmina
