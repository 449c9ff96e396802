// tests/faults/injected.hpp -- memory that runs out and files that fail, at a call of one's choice.
//
// The program's own malloc, open, read, write and so on stand before those of the C library, also for what is linked to
// it: operator new, Eigen and zlib ask here.
#pragma once
#include <cstddef>

namespace carmina::testing {

enum class Fault {
  memory,       // an allocation gives nothing
  error,        // a call on a file fails: EIO of reads, ENOSPC of writes
  interrupted,  // EINTR
  partial       // a read or write does half of what it was asked
};

// While it lives, calls of the kind are counted, in all threads, and the n-th fails; 0: none.
class Injected {
 public:
  Injected(Fault fault, long n, std::size_t least_bytes = 0);  // of an allocation
  ~Injected();
  Injected(const Injected&) = delete;

  static long calls();         // since the last one began
  static long live_blocks();   // allocated and not freed
  static bool memory_fails();  // whether allocations can be made to fail here: not under a sanitizer
};

// Where this is set a test tries all places, or a share of them, and not some.
inline constexpr const char* all_faults = "CARMINA_ALL_FAULTS";

}  // namespace carmina::testing
