// cli/standard_input.cpp -- standard input as a file that can be read again.
#include "standard_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <carmina/core/error.hpp>
#include <carmina/core/execution.hpp>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>
#include "data/readers.hpp"

#include "console.hpp"

namespace carmina::cli {

namespace {

std::string read_again;  // the path that stands for standard input; empty: it was not asked for

std::string reason() { return std::generic_category().message(errno); }

void write_all(int to, const char* data, std::size_t size, const std::string& folder) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = ::write(to, data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    require(count > 0, "cannot keep the standard input in '{}': {}", folder, reason());
    done += static_cast<std::size_t>(count);
  }
}

// A descriptor of a file with what comes through standard input.
int spooled() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  std::string name = folder + "/carmina-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  require(file >= 0, "cannot keep the standard input in '{}': {}", folder, reason());
  ::unlink(name.c_str());
  std::vector<char> buffer(std::size_t{1} << 20);
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (caught_signal() != 0) throw Cancelled();
    if (count < 0 && errno == EINTR) continue;
    require(count >= 0, "cannot read the standard input: {}", reason());
    if (count == 0) return file;
    write_all(file, buffer.data(), static_cast<std::size_t>(count), folder);
  }
}

}  // namespace

std::unique_ptr<TableReader> open_input(const std::string& path, Index libsvm_features, std::size_t memory_budget) {
  if (path != "-") return open_table(path, libsvm_features, memory_budget);
  require(read_again.empty(), "the standard input can be read for one table, not for two");
  struct stat about{};
  const bool file =
      ::fstat(STDIN_FILENO, &about) == 0 && S_ISREG(about.st_mode) && ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
  read_again = format_text("/dev/fd/{}", file ? STDIN_FILENO : spooled());
  return data::open_csv(read_again, data::ReadLimit(memory_budget));
}

std::string with_standard_input(std::string message) {
  if (read_again.empty()) return message;
  for (std::size_t at = message.find(read_again); at != message.npos; at = message.find(read_again)) {
    message.replace(at, read_again.size(), "standard input");
  }
  return message;
}

}  // namespace carmina::cli
