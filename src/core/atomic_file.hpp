// core/atomic_file.hpp -- a file that appears whole or not at all: written beside, synced, renamed.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

struct stat;

namespace carmina {

// Every failure throws Error "cannot write 'PATH': reason". What stood at `path` before stays there until commit(), and
// gives the new file its owner and mode; through a symbolic link the file that it points to is written. What a killed
// process left in the folder is removed by the next one that writes there.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // without commit() the temporary file is removed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size);                          // at the end
  void overwrite(std::size_t offset, const void* data, std::size_t size);  // over bytes already written
  void commit();                                                           // once; nothing may be written after it
  std::size_t size() const { return size_; }

 private:
  void flush();
  [[noreturn]] void fail_with(int error) const;
  void keep_permissions(const struct stat& before) const;

  std::string path_, target_, temporary_;  // as given; behind its links; beside that
  int descriptor_ = -1;
  std::vector<char> buffer_;  // not yet handed to the system
  std::size_t size_ = 0;      // written so far, buffer included
};

}  // namespace carmina
