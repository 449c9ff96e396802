// core/atomic_file.cpp -- written beside, synced, renamed; the POSIX calls behind AtomicFile.
#include "core/atomic_file.hpp"

#include <carmina/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

namespace carmina {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 18;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Unique among processes and threads; in the same folder, since a rename is atomic only within one file
// system.
std::string name_beside(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return format_text("{}.{}-{}.tmp", path, ::getpid(), counter++);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail_with(EISDIR);
    require(S_ISREG(info.st_mode), "cannot write '{}': it is not a regular file", path);
  }
  buffer_.reserve(buffer_size);  // before there is a file: what throws here leaves none
  // A name left behind by a killed process of the same number is stepped over.
  for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
    temporary_ = name_beside(path);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail_with(errno);
  }
  if (descriptor_ < 0) fail_with(EEXIST);
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
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with(errno);
  ::close(descriptor_);
  descriptor_ = -1;
  // The new name is in the folder, which is synced too; some file systems refuse that, and the file is whole
  // anyway.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

}  // namespace carmina
