// data/mapped_table.cpp -- reads either order in blocks of rows, with a resident set of about one block.
#include "data/mapped_table.hpp"
#include "data/text_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace carmina::data {

MappedTable::MappedTable(const std::string& path, const Layout& layout)
    : path_(path),
      layout_(layout),
      columns_(numbered_columns(layout.columns, path)),
      map_size_(layout.offset + layout.bytes()),
      page_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* map = descriptor < 0 ? MAP_FAILED : ::mmap(nullptr, map_size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);  // the mapping stays
  require(map != MAP_FAILED, "cannot read '{}': {}", path, std::generic_category().message(error));
  map_ = static_cast<char*>(map);
  // Rows follow each other in the file; columns are each read a little at a time, where reading ahead costs
  // memory.
  ::madvise(map_, map_size_, layout_.column_major ? MADV_NORMAL : MADV_SEQUENTIAL);
}

MappedTable::~MappedTable() { ::munmap(map_, map_size_); }

// Gives back the pages that lie before `end` from the one of `begin` on. The page of `end` is still needed.
void MappedTable::release(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t from = begin / page_ * page_, to = end / page_ * page_;
  if (to > from) ::madvise(map_ + from, to - from, MADV_DONTNEED);
}

template <class To>
Index MappedTable::read_as(View<To> out) {
  first_ = at_;
  const auto rows = static_cast<Index>(layout_.rows), columns = static_cast<Index>(layout_.columns);
  const auto size = static_cast<Index>(layout_.element.size);
  const Index count = std::min(out.rows(), rows - at_);
  const Convert<To> to_cells = converter<To>(layout_.element);
  const auto offset = static_cast<Index>(layout_.offset);
  // Released every few megabytes, so that a large block in another type does not hold its pages as well.
  const Index step = std::max<Index>(1, (Index{1} << 22) / (columns * size));
  for (Index done = 0; done < count; done += step) {
    const Index part = std::min(step, count - done);
    To* const to = out.data() + done * out.outerStride();
    if (layout_.column_major) {
      for (Index j = 0; j < columns; ++j) {
        const Index begin = offset + (j * rows + at_) * size, end = begin + part * size;
        to_cells(map_ + begin, size, part, to + j, out.outerStride());
        release(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
      }
    } else {
      const Index begin = offset + at_ * columns * size;
      const bool whole = out.outerStride() == columns;  // rows follow each other there too
      const Index runs = whole ? 1 : part, length = whole ? part * columns : columns;
      for (Index i = 0; i < runs; ++i) {
        to_cells(map_ + begin + i * columns * size, size, length, to + i * out.outerStride(), 1);
      }
      // From a little before: a page fault maps its neighbours too, also those that were given back.
      constexpr Index neighbours = Index{1} << 18;
      release(static_cast<std::uint64_t>(std::max<Index>(0, begin - neighbours)),
              static_cast<std::uint64_t>(begin + part * columns * size));
    }
    at_ += part;
  }
  return count;
}
template Index MappedTable::read_as(View<float>);
template Index MappedTable::read_as(View<double>);

void MappedTable::rewind() {
  ::madvise(map_, map_size_, MADV_DONTNEED);
  first_ = at_ = 0;
}

}  // namespace carmina::data
