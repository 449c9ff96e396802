// core/atomic_file.cpp -- written beside, synced, renamed; the POSIX calls behind AtomicFile.
#include "core/atomic_file.hpp"
#include "core/paths.hpp"

#include <carmina/core/error.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <system_error>

namespace carmina {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 18;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The file that is written: where a symbolic link points to, also if nothing is there yet.
std::string behind_links(std::string path) {
  constexpr int most_links = 40;  // as the kernel itself follows
  for (int link = 0; link < most_links; ++link) {
    struct stat info;
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
    std::string target(static_cast<std::size_t>(std::max<off_t>(info.st_size, 255)) + 1, '\0');
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length <= 0 || static_cast<std::size_t>(length) == target.size()) return path;
    target.resize(static_cast<std::size_t>(length));
    path = target.starts_with('/') ? target : folder_of(path) + '/' + target;
  }
  fail("cannot write '{}': {}", path, std::generic_category().message(ELOOP));
}

// Temporary files are ".carmina-PROCESS-NUMBER.tmp", unique among processes and threads, in the folder of the file
// itself: a rename is atomic only within one file system.
constexpr std::string_view temporary_begins = ".carmina-", temporary_ends = ".tmp";

std::string temporary_in(const std::string& folder) {
  static std::atomic<unsigned> counter{0};
  return format_text("{}/{}{}-{}{}", folder, temporary_begins, ::getpid(), counter++, temporary_ends);
}

// The process in such a name; 0: it is none.
pid_t process_in(std::string_view name) {
  if (!name.starts_with(temporary_begins) || !name.ends_with(temporary_ends)) return 0;
  name.remove_prefix(temporary_begins.size());
  pid_t process = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), process);
  return code == std::errc() && *end == '-' && process > 0 ? process : 0;
}

// Removes what killed processes left. Each holds a lock on its file while it lives, which others of this machine and of
// a shared folder see; a file that nobody holds, of a process that is not there, is nobody's.
void remove_stale(const std::string& folder) {
  DIR* const listing = ::opendir(folder.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing)) {
    const pid_t process = process_in(entry->d_name);
    if (process == 0 || ::kill(process, 0) == 0 || errno != ESRCH) continue;
    const std::string path = folder + '/' + entry->d_name;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    ::close(descriptor);
  }
  ::closedir(listing);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  check_path("write", path);
  target_ = behind_links(path);
  struct stat info;
  const bool replaces = ::stat(target_.c_str(), &info) == 0;
  if (replaces) {
    if (S_ISDIR(info.st_mode)) fail_with(EISDIR);
    require(S_ISREG(info.st_mode), "cannot write '{}': it is not a regular file", path);
  }
  const std::string folder = folder_of(target_);
  remove_stale(folder);
  buffer_.reserve(buffer_size);  // before there is a file: what throws here leaves none
  // A name left behind by a killed process of the same number is stepped over.
  for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
    temporary_ = temporary_in(folder);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail_with(errno);
  }
  if (descriptor_ < 0) fail_with(EEXIST);
  ::flock(descriptor_, LOCK_EX | LOCK_NB);  // where locks are not known, others go by the process alone
  if (replaces) keep_permissions(info);
}

// Those of the file that is replaced. The owner, who only the superuser may change, before the mode, which that clears.
void AtomicFile::keep_permissions(const struct stat& before) const {
  struct stat now;
  if (::fstat(descriptor_, &now) != 0) return;
  const bool other = now.st_uid != before.st_uid || now.st_gid != before.st_gid;
  if (other && ::fchown(descriptor_, before.st_uid, before.st_gid) != 0) {
    (void)!::fchown(descriptor_, static_cast<uid_t>(-1), before.st_gid);
  }
  ::fchmod(descriptor_, before.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail_with(int error) const {
  fail("cannot write '{}': {}", path_, std::generic_category().message(error));
}

void AtomicFile::write(const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  size_ += size;
  while (size > 0) {
    const std::size_t part = std::min(size, buffer_size - buffer_.size());
    buffer_.insert(buffer_.end(), bytes, bytes + part);
    bytes += part;
    size -= part;
    if (buffer_.size() == buffer_size) flush();
  }
}

void AtomicFile::flush() {
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t count = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with(errno);
    done += static_cast<std::size_t>(count);
  }
  buffer_.clear();
}

void AtomicFile::overwrite(std::size_t offset, const void* data, std::size_t size) {
  require(offset <= size_ && size <= size_ - offset, "cannot write '{}': bytes {} to {} are not written yet", path_,
          offset, offset + size);
  flush();
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::pwrite(descriptor_, bytes, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with(errno);
    bytes += count;
    offset += static_cast<std::size_t>(count);
    size -= static_cast<std::size_t>(count);
  }
}

void AtomicFile::commit() {
  require(descriptor_ >= 0, "cannot write '{}': it is already finished", path_);
  flush();
  if (::fsync(descriptor_) != 0) fail_with(errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with(errno);
  ::close(descriptor_);
  descriptor_ = -1;
  // The new name is in the folder, which is synced too; some file systems refuse that, and the file is whole
  // anyway.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

}  // namespace carmina
