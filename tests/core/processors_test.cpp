// tests/core/processors_test.cpp -- quotas of control groups, as the system writes them.
#include "core/processors.hpp"

#include <gtest/gtest.h>
#include <carmina/core/machine.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "support/temp_dir.hpp"

namespace carmina::processors_test {
namespace {

// A system's files under a folder.
struct System {
  testing::TempDir folder;
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder.path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  double quota() const { return processor_quota(folder.path("")); }
};

TEST(Processors, NoGroupIsNoQuota) {
  EXPECT_TRUE(std::isinf(System().quota()));
  System system;
  system.write("proc/self/cgroup", "0::/\n");
  EXPECT_TRUE(std::isinf(system.quota()));
  system.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(system.quota()));
}

TEST(Processors, TheLeastOfTheGroupsAroundItCounts) {
  const System system;
  system.write("proc/self/cgroup", "0::/outer/inner\n");
  system.write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  system.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(system.quota(), 1.5);
  system.write("sys/fs/cgroup/outer/inner/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(system.quota(), 0.5);
}

// A container whose group has a name on the host but is the root of what it sees.
TEST(Processors, VersionOneIsReadToo) {
  const System system;
  system.write("proc/self/cgroup", "9:memory:/a\n4:cpu,cpuacct:/docker/0123\n0::/\n");
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(system.quota(), 2.5);
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_TRUE(std::isinf(system.quota()));
}

TEST(Processors, DamagedFilesAreNoQuota) {
  const System system;
  system.write("proc/self/cgroup", "0\n::\n0::/\n3:cpu:/\n");
  system.write("sys/fs/cgroup/cpu.max", "100000\n");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100\n");
  EXPECT_TRUE(std::isinf(system.quota()));
}

TEST(Processors, AtLeastOneIsUsable) { EXPECT_GE(usable_processors(), 1); }

TEST(Machine, IsDescribed) {
  const Machine it = describe_machine();
  EXPECT_FALSE(it.processor.empty());
  EXPECT_GT(it.float_products, 0);
  EXPECT_GT(it.double_limit, 0);
  EXPECT_GT(it.float_limit, it.double_limit / 2);
}

}  // namespace
}  // namespace carmina::processors_test
