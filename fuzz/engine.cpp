// fuzz/engine.cpp -- what a fuzzing engine calls, for the target whose line of targets.cpp is CARMINA_FUZZ_TARGET: this
// program links that one alone. An input may take a second of processor time, and 64 MB + 16 bytes for each of its own.
#include "fuzz/engine_limits.hpp"
#include "fuzz/targets.hpp"

// libFuzzer's; other engines have none.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t capacity);

namespace {
using namespace carmina::fuzz;
constexpr Target chosen{CARMINA_FUZZ_TARGET};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, size);
  Used used;
  chosen.run(bytes);
  used.check(bytes, chosen.unpacked);
  return 0;
}

#ifdef CARMINA_FUZZ_MUTATES  // without a mutator of its own libFuzzer begins with short inputs
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned seed) {
  // One change in four is libFuzzer's own: it knows its dictionary and what the program compared with.
  if (seed % 4 != 0 || !LLVMFuzzerMutate) return chosen.mutate(data, size, capacity, seed / 4);
  return LLVMFuzzerMutate(data, size, capacity);
}
#endif
