// tests/faults/injected.cpp -- the calls that stand before those of the C library.
#include "injected.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CARMINA_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CARMINA_OWN_MALLOC 0
#endif
#endif
#ifndef CARMINA_OWN_MALLOC
#define CARMINA_OWN_MALLOC 1
#endif

#define CARMINA_VISIBLE extern "C" __attribute__((visibility("default")))

namespace carmina::testing {
namespace {

std::atomic<bool> armed = false;
std::atomic<Fault> kind = Fault::memory;
std::atomic<std::size_t> least = 0;
std::atomic<long> counted = 0, fails_at = 0, live = 0;

bool memory_fails_now(std::size_t size) {
  return armed && kind == Fault::memory && size >= least && ++counted == fails_at;
}

// A call on a file; `data`: one that reads or writes bytes.
enum class Outcome { as_it_is, fails, half };
Outcome of_call(int error, bool data) {
  if (!armed || kind == Fault::memory || (kind == Fault::partial && !data)) return Outcome::as_it_is;
  if (++counted != fails_at) return Outcome::as_it_is;
  if (kind == Fault::partial) return Outcome::half;
  errno = kind == Fault::interrupted ? EINTR : error;
  return Outcome::fails;
}

template <class F>
F* original(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

Injected::Injected(Fault fault, long n, std::size_t least_bytes) {
  least = least_bytes;
  kind = fault;
  fails_at = n;
  counted = 0;
  armed = true;
}
Injected::~Injected() { armed = false; }
long Injected::calls() { return counted; }
long Injected::live_blocks() { return live; }
bool Injected::memory_fails() { return CARMINA_OWN_MALLOC; }

}  // namespace carmina::testing

using namespace carmina::testing;  // NOLINT: the functions below have no namespace

#if CARMINA_OWN_MALLOC
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* __libc_realloc(void*, std::size_t);
extern "C" void* __libc_memalign(std::size_t, std::size_t);
extern "C" void __libc_free(void*);

namespace {

void* counted_block(void* block) {
  if (block) ++live;
  return block;
}
void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

CARMINA_VISIBLE void* malloc(std::size_t size) {
  return memory_fails_now(size) ? no_memory() : counted_block(__libc_malloc(size));
}
CARMINA_VISIBLE void* calloc(std::size_t count, std::size_t size) {
  return memory_fails_now(count * size) ? no_memory() : counted_block(__libc_calloc(count, size));
}
CARMINA_VISIBLE void* realloc(void* block, std::size_t size) {
  if (memory_fails_now(size)) return no_memory();
  void* const moved = __libc_realloc(block, size);
  if (!block && moved) ++live;
  if (block && !moved && size == 0) --live;
  return moved;
}
CARMINA_VISIBLE void* memalign(std::size_t alignment, std::size_t size) {
  return memory_fails_now(size) ? no_memory() : counted_block(__libc_memalign(alignment, size));
}
CARMINA_VISIBLE void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
CARMINA_VISIBLE int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  void* const block = memalign(alignment, size);
  if (!block) return ENOMEM;
  *out = block;
  return 0;
}
CARMINA_VISIBLE void free(void* block) {
  if (block) --live;
  __libc_free(block);
}
#endif

CARMINA_VISIBLE int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
  va_end(more);
  static auto* const real = original<int(const char*, int, ...)>("open");
  return of_call((flags & O_CREAT) ? ENOSPC : EIO, false) == Outcome::fails ? -1 : real(path, flags, mode);
}
CARMINA_VISIBLE ssize_t read(int file, void* data, std::size_t size) {
  static auto* const real = original<ssize_t(int, void*, std::size_t)>("read");
  const Outcome outcome = of_call(EIO, size > 1);
  if (outcome == Outcome::fails) return -1;
  return real(file, data, outcome == Outcome::half ? size / 2 : size);
}
CARMINA_VISIBLE ssize_t write(int file, const void* data, std::size_t size) {
  static auto* const real = original<ssize_t(int, const void*, std::size_t)>("write");
  const Outcome outcome = of_call(ENOSPC, size > 1);
  if (outcome == Outcome::fails) return -1;
  return real(file, data, outcome == Outcome::half ? size / 2 : size);
}
CARMINA_VISIBLE ssize_t pwrite(int file, const void* data, std::size_t size, off_t offset) {
  static auto* const real = original<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  const Outcome outcome = of_call(ENOSPC, size > 1);
  if (outcome == Outcome::fails) return -1;
  return real(file, data, outcome == Outcome::half ? size / 2 : size, offset);
}
CARMINA_VISIBLE int fsync(int file) {
  static auto* const real = original<int(int)>("fsync");
  return of_call(EIO, false) == Outcome::fails ? -1 : real(file);
}
CARMINA_VISIBLE int rename(const char* from, const char* to) {
  static auto* const real = original<int(const char*, const char*)>("rename");
  return of_call(ENOSPC, false) == Outcome::fails ? -1 : real(from, to);
}
CARMINA_VISIBLE std::FILE* fopen(const char* path, const char* mode) {
  static auto* const real = original<std::FILE*(const char*, const char*)>("fopen");
  return of_call(EIO, false) == Outcome::fails ? nullptr : real(path, mode);
}
CARMINA_VISIBLE std::size_t fread(void* data, std::size_t size, std::size_t count, std::FILE* file) {
  static auto* const real = original<std::size_t(void*, std::size_t, std::size_t, std::FILE*)>("fread");
  return of_call(EIO, false) == Outcome::fails ? 0 : real(data, size, count, file);
}
CARMINA_VISIBLE void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  static auto* const real = original<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (file >= 0 && of_call(EIO, false) == Outcome::fails) return MAP_FAILED;
  return real(at, size, protection, flags, file, offset);
}
