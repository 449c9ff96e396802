// fuzz/input_file.hpp -- bytes as a file with an ending, for readers that take a path; in memory where the system has a
// folder for that.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace carmina::fuzz {

class InputFile {
 public:
  InputFile(std::string_view ending, std::span<const std::uint8_t> bytes) : path_(folder() + "input") {
    path_ += ending;
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    ::close(file);
    if (written != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("cannot write " + path_);
  }
  ~InputFile() { ::unlink(path_.c_str()); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  const std::string& path() const { return path_; }

  // Of this process alone, removed when it ends.
  static const std::string& folder() {
    static const struct Folder {
      Folder() {
        const char* memory = "/dev/shm";
        const auto parent = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
        path = (parent / ("carmina-fuzz-" + std::to_string(::getpid()))).string() + "/";
        std::filesystem::create_directory(path);
      }
      ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
      }
      std::string path;
    } it;
    return it.path;
  }

 private:
  std::string path_;
};

}  // namespace carmina::fuzz
