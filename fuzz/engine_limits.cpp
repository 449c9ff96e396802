// fuzz/engine_limits.cpp -- counts bytes that are allocated and not freed.
#include "fuzz/engine_limits.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

// Of the sanitizers that have an allocator; without one nothing is counted.
extern "C" [[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                                         std::size_t),
                                                                       void (*on_free)(const volatile void*));
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_allocated_size_fast(const volatile void* block);

namespace carmina::fuzz {
namespace {

constexpr double base = 64e6, factor = 16, most_seconds = 1;

std::atomic<long> live = 0, peak = 0;

void on_malloc(const volatile void* block, std::size_t size) {
  if (!block) return;
  const long now = live.fetch_add(static_cast<long>(size), std::memory_order_relaxed) + static_cast<long>(size);
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}
void on_free(const volatile void* block) {
  if (!block) return;
  live.fetch_sub(static_cast<long>(__sanitizer_get_allocated_size_fast(block)), std::memory_order_relaxed);
}

double largest = 0, slowest = 0;  // of all inputs: bytes, seconds

void print_largest() {
  std::fprintf(stderr, "stat::largest_memory_bytes: %.0f\nstat::slowest_input_milliseconds: %.1f\n", largest,
               1e3 * slowest);
}

bool counting() {
  static const bool on = [] {
    std::atexit(print_largest);
    return __sanitizer_install_malloc_and_free_hooks && __sanitizer_get_allocated_size_fast &&
           __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0;
  }();
  return on;
}

}  // namespace

Used::Used() {
  counting();
  live_before_ = live;
  peak = live_before_;
  begin_ = std::clock();
}

void Used::check(Bytes bytes, std::size_t (*unpacked)(Bytes)) const {
  const double seconds = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
  const auto memory = static_cast<double>(peak - live_before_);
  largest = std::max(largest, memory);
  slowest = std::max(slowest, seconds);
  expect(seconds <= most_seconds, "an input took more than a second");
  if (memory <= base) return;
  const std::size_t size = unpacked ? unpacked(bytes) : bytes.size();
  expect(memory <= base + factor * static_cast<double>(size), "an input took more than 64 MB and 16 times its size");
}

}  // namespace carmina::fuzz
