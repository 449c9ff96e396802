// tests/core/atomic_file_test.cpp -- links, permissions, what killed processes leave, and names that no file can have.
#include "core/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <carmina/data/table.hpp>
#include <carmina/models/model_file.hpp>

#include "support/message_of.hpp"
#include "support/temp_dir.hpp"

namespace carmina::atomic_file_test {
namespace {

using carmina::testing::message_of;
using carmina::testing::TempDir;
using ::testing::HasSubstr;

void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(AtomicFileOnDisk, WritesThroughLinks) {
  TempDir dir;
  std::filesystem::create_directory(dir.path("far"));
  dir.file("far/model", "old");
  std::filesystem::create_symlink("far/model", dir.path("near"));        // relative to the link
  std::filesystem::create_symlink(dir.path("near"), dir.path("chain"));  // and one that leads to it
  std::filesystem::create_symlink("far/nothing-yet", dir.path("dangling"));
  write_text(dir.path("chain"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir.path("chain")));
  EXPECT_TRUE(std::filesystem::is_symlink(dir.path("near")));
  EXPECT_EQ(dir.content("far/model"), "new");
  write_text(dir.path("dangling"), "first");
  EXPECT_TRUE(std::filesystem::is_symlink(dir.path("dangling")));
  EXPECT_EQ(dir.content("far/nothing-yet"), "first");
  std::filesystem::create_symlink("b", dir.path("a"));
  std::filesystem::create_symlink("a", dir.path("b"));
  EXPECT_THAT(message_of([&] { write_text(dir.path("a"), ""); }), HasSubstr("levels of symbolic links"));
  std::filesystem::create_symlink("/dev/null", dir.path("device"));
  EXPECT_THAT(message_of([&] { write_text(dir.path("device"), ""); }), HasSubstr("not a regular file"));
}

TEST(AtomicFileOnDisk, KeepsTheModeOfTheFileThatItReplaces) {
  TempDir dir;
  for (const mode_t mode : {0600, 0640, 0444, 0755}) {
    dir.file("model", "old");
    ::chmod(dir.path("model").c_str(), mode);
    write_text(dir.path("model"), "new");
    EXPECT_EQ(mode_of(dir.path("model")), mode);
    std::filesystem::remove(dir.path("model"));
  }
  // What is private stays so while it is written, too.
  dir.file("model", "old");
  ::chmod(dir.path("model").c_str(), 0600);
  const AtomicFile file(dir.path("model"));
  for (const auto& entry : std::filesystem::directory_iterator(dir.path(""))) EXPECT_EQ(mode_of(entry.path()), 0600);
}

TEST(AtomicFileOnDisk, RemovesWhatDeadProcessesLeft) {
  TempDir dir;
  const std::string dead = format_text(".carmina-{}-0.tmp", dead_process());
  const std::string held = format_text(".carmina-{}-7.tmp", dead_process());  // by a process of another machine
  const std::string alive = format_text(".carmina-{}-999999.tmp", ::getpid());
  for (const std::string& name : {dead, held, alive}) dir.file(name, "half");
  for (const char* name : {"carmina-1-0.tmp", ".carmina-x-0.tmp", ".carmina-4000000-0.tmp.gz"}) dir.file(name, "mine");
  const int holder = ::open(dir.path(held).c_str(), O_RDONLY);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  write_text(dir.path("model"), "new");
  EXPECT_FALSE(std::filesystem::exists(dir.path(dead)));
  EXPECT_TRUE(std::filesystem::exists(dir.path(held)));
  EXPECT_TRUE(std::filesystem::exists(dir.path(alive)));
  EXPECT_EQ(dir.entries(), 6u);
  ::close(holder);
  write_text(dir.path("model"), "new");
  EXPECT_FALSE(std::filesystem::exists(dir.path(held)));
}

TEST(AtomicFileOnDisk, ANameMayBeAsLongAsTheSystemAllows) {
  TempDir dir;
  const std::string name(255, 'n');
  write_text(dir.path(name), "whole");
  EXPECT_EQ(dir.content(name), "whole");
}

TEST(Paths, EmptyOnesAndThoseWithNulAreRefused) {
  TempDir dir;
  const std::string nul = dir.path(std::string("model\0.csv", 10));
  const std::string followed = "'" + dir.path("model") + "': a NUL byte follows in its name";
  EXPECT_EQ(message_of([&] { write_text(nul, ""); }), "cannot write " + followed);
  EXPECT_EQ(message_of([&] { read_model_file(nul); }), "cannot read " + followed);
  EXPECT_EQ(message_of([&] { open_table(nul); }), "cannot read " + followed);
  EXPECT_EQ(message_of([&] { write_text("", ""); }), "cannot write a file: its name is empty");
  EXPECT_EQ(message_of([&] { read_model_file(""); }), "cannot read a file: its name is empty");
  EXPECT_EQ(dir.entries(), 0u);
}

}  // namespace
}  // namespace carmina::atomic_file_test
