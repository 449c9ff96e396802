// backends/huge_pages.hpp -- memory of large pages, where the system has them for who asks.
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace carmina::backend {

// A matrix that was allocated and not touched yet. Pages of 4 KB take a fault each: of a matrix of 17 MB some 4,000,
// and threads wait for one another in them.
template <class T>
void prefer_huge_pages([[maybe_unused]] Matrix<T>& fresh) {
#ifdef __linux__
  constexpr std::uintptr_t page = std::uintptr_t{1} << 21;
  const auto data = reinterpret_cast<std::uintptr_t>(fresh.data());
  const auto bytes = static_cast<std::uintptr_t>(fresh.size()) * sizeof(T);
  const std::uintptr_t begin = (data + page - 1) / page * page, end = (data + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish: may fail
#endif
}

}  // namespace carmina::backend
