// data/byte_input.cpp -- plain and gzip files through zlib, with the system's reason when one cannot be read.
#include "data/byte_input.hpp"
#include "core/paths.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace carmina::data {

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// Room for the whole of a small file: many of those are opened for a few rows.
unsigned buffer_bytes(off_t stored) { return static_cast<unsigned>(std::clamp<off_t>(stored, 1 << 12, 1 << 18)); }

}  // namespace

bool ends_with_gz(std::string_view path) { return lower(path).ends_with(".gz"); }

void fail_changed(const std::string& path) { fail("{}: the file changed while it was read", path); }

FileStamp::FileStamp(int descriptor) {
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return;
  size_ = info.st_size, seconds_ = info.st_mtim.tv_sec, nanoseconds_ = info.st_mtim.tv_nsec;
}

void FileStamp::check(int descriptor, const std::string& path) const {
  const FileStamp now(descriptor);
  if (now.size_ != size_ || now.seconds_ != seconds_ || now.nanoseconds_ != nanoseconds_) fail_changed(path);
}

ByteInput::ByteInput(const std::string& path) : path_(path), compressed_(ends_with_gz(path)) {
  check_path("read", path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require(descriptor >= 0, "cannot read '{}': {}", path, reason(errno));
  struct stat info{};
  const int unknown = ::fstat(descriptor, &info) == 0 ? 0 : errno;
  file_ = ::gzdopen(descriptor, "rb");  // owns the descriptor from here on
  if (file_ == nullptr) {
    ::close(descriptor);
    fail("cannot read '{}': {}", path, reason(ENOMEM));
  }
  ::gzbuffer(file_, buffer_bytes(info.st_size));

  std::string trouble;
  if (unknown != 0) {
    trouble = format_text("cannot read '{}': {}", path, reason(unknown));
  } else if (S_ISDIR(info.st_mode)) {
    trouble = format_text("cannot read '{}': {}", path, reason(EISDIR));
  } else if (!S_ISREG(info.st_mode)) {
    trouble = format_text("cannot read '{}': it is not a regular file", path);
  } else if (info.st_size == 0) {
    trouble = format_text("{}: the file is empty", path);
  } else if (compressed_ != (::gzdirect(file_) == 0)) {
    trouble = compressed_ ? format_text("{}: not a gzip file, though its name ends in .gz", path)
                          : format_text("{}: a gzip file, but its name does not end in .gz", path);
  }
  if (!trouble.empty()) {
    ::gzclose_r(file_);
    throw Error(trouble);
  }
  stored_size_ = static_cast<std::uint64_t>(info.st_size);
  descriptor_ = descriptor;
  stamp_ = FileStamp(descriptor);
}

ByteInput::~ByteInput() {
  if (file_ != nullptr) ::gzclose_r(file_);
}

ByteInput::ByteInput(ByteInput&& other) noexcept
    : path_(std::move(other.path_)),
      compressed_(other.compressed_),
      stored_size_(other.stored_size_),
      descriptor_(other.descriptor_),
      stamp_(other.stamp_),
      file_(std::exchange(other.file_, nullptr)) {}

void ByteInput::fail_reading() const {
  stamp_.check(descriptor_, path_);
  int code = Z_OK;
  const std::string message = ::gzerror(file_, &code);
  if (code == Z_ERRNO) fail("cannot read '{}': {}", path_, reason(errno));
  if (code == Z_BUF_ERROR) fail("{}: the gzip data is truncated", path_);
  const auto colon = message.rfind(": ");  // zlib puts its own name of the file before the reason
  fail("{}: the gzip data is corrupt ({})", path_, colon == message.npos ? message : message.substr(colon + 2));
}

std::size_t ByteInput::read(void* data, std::size_t size) {
  char* bytes = static_cast<char*>(data);
  std::size_t done = 0;
  while (done < size) {
    const auto part = static_cast<unsigned>(std::min<std::size_t>(size - done, 1u << 30));
    const int count = ::gzread(file_, bytes + done, part);
    if (count < 0) fail_reading();
    done += static_cast<std::size_t>(count);
    if (static_cast<unsigned>(count) < part) {
      // zlib hands out what it could unpack before it says that the end is missing.
      int code = Z_OK;
      ::gzerror(file_, &code);
      if (code != Z_OK && code != Z_STREAM_END) fail_reading();
      break;
    }
  }
  stamp_.check(descriptor_, path_);
  return done;
}

void ByteInput::skip_to(std::uint64_t offset) {
  if (::gzseek(file_, static_cast<z_off_t>(offset), SEEK_SET) < 0) fail_reading();
}

}  // namespace carmina::data
