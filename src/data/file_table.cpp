// data/file_table.cpp -- parts of a file into a buffer, converted from there.
#include "data/file_table.hpp"
#include "data/text_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace carmina::data {

FileTable::FileTable(const std::string& path, const Layout& layout, const ReadLimit& limit)
    : path_(path), layout_(layout), columns_(numbered_columns(layout.columns, path, limit)) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(descriptor_ >= 0, "cannot read '{}': {}", path, std::generic_category().message(errno));
  stamp_ = FileStamp(descriptor_);
  // Rows follow each other in the file; columns are each read a little at a time, where reading ahead costs memory.
  if (!layout_.column_major) ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

FileTable::~FileTable() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

const char* FileTable::bytes(std::uint64_t begin, std::uint64_t size) {
  if (buffer_.size() < size) buffer_.resize(size);
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t count = ::pread(descriptor_, buffer_.data() + done, size - done, static_cast<off_t>(begin + done));
    if (count < 0 && errno == EINTR) continue;
    require(count >= 0, "cannot read '{}': {}", path_, std::generic_category().message(errno));
    if (count == 0) fail_changed(path_);  // it was long enough when it was opened
    done += static_cast<std::uint64_t>(count);
  }
  return buffer_.data();
}

template <class To>
Index FileTable::read_as(View<To> out) {
  first_ = at_;
  const auto rows = static_cast<Index>(layout_.rows), columns = static_cast<Index>(layout_.columns);
  const auto size = static_cast<Index>(layout_.element.size);
  const Index count = std::min(out.rows(), rows - at_);
  const Convert<To> to_cells = converter<To>(layout_.element);
  const auto offset = static_cast<Index>(layout_.offset);
  // A megabyte at a time, so that a large block in another type does not hold its bytes as well.
  const Index step = std::max<Index>(1, (Index{1} << 20) / (columns * size));
  for (Index done = 0; done < count; done += step) {
    const Index part = std::min(step, count - done);
    To* const to = out.data() + done * out.outerStride();
    if (layout_.column_major) {
      for (Index j = 0; j < columns; ++j) {
        const Index begin = offset + (j * rows + at_) * size;
        to_cells(bytes(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(part * size)), size, part, to + j,
                 out.outerStride());
      }
    } else {
      const char* const from = bytes(static_cast<std::uint64_t>(offset + at_ * columns * size),
                                     static_cast<std::uint64_t>(part * columns * size));
      const bool whole = out.outerStride() == columns;  // rows follow each other there too
      const Index runs = whole ? 1 : part, length = whole ? part * columns : columns;
      for (Index i = 0; i < runs; ++i) {
        to_cells(from + i * columns * size, size, length, to + i * out.outerStride(), 1);
      }
    }
    at_ += part;
  }
  stamp_.check(descriptor_, path_);
  return count;
}
template Index FileTable::read_as(View<float>);
template Index FileTable::read_as(View<double>);

}  // namespace carmina::data
