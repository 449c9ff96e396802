// data/byte_input.hpp -- the bytes of a file in order, unpacked when its name ends in .gz.
#pragma once
#include "data/cells.hpp"

#include <carmina/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

struct gzFile_s;

namespace carmina::data {

[[noreturn]] void fail_changed(const std::string& path);

// Size and time of the last change of an open file: those of its first reading must be those of the last.
class FileStamp {
 public:
  FileStamp() = default;
  explicit FileStamp(int descriptor);
  void check(int descriptor, const std::string& path) const;  // Error for a file that has changed since

 private:
  std::int64_t size_ = 0, seconds_ = 0, nanoseconds_ = 0;
};

class ByteInput {
 public:
  explicit ByteInput(const std::string& path);
  ~ByteInput();
  ByteInput(ByteInput&& other) noexcept;
  ByteInput(const ByteInput&) = delete;
  ByteInput& operator=(const ByteInput&) = delete;

  const std::string& path() const { return path_; }
  bool compressed() const { return compressed_; }
  std::uint64_t stored_size() const { return stored_size_; }  // of the file itself, packed or not

  std::size_t read(void* data, std::size_t size);  // fewer than asked only at the end; Error for a file that changes
  void skip_to(std::uint64_t offset);              // from the beginning, in unpacked bytes

 private:
  [[noreturn]] void fail_reading() const;

  std::string path_;
  bool compressed_;
  std::uint64_t stored_size_ = 0;
  int descriptor_ = -1;  // of file_, which closes it
  FileStamp stamp_;
  gzFile_s* file_ = nullptr;
};

bool ends_with_gz(std::string_view path);

}  // namespace carmina::data
