// fuzz/engine.cpp -- what a fuzzing engine calls, for the target CARMINA_FUZZ_TARGET.
#include "fuzz/targets.hpp"

// libFuzzer's; other engines have none.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t capacity);

namespace {
const carmina::fuzz::Target& chosen() {
  static const carmina::fuzz::Target& it = carmina::fuzz::target(CARMINA_FUZZ_TARGET);
  return it;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().run({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned seed) {
  // One change in four is libFuzzer's own: it knows its dictionary and what the program compared with.
  const bool own = chosen().mutate && (seed % 4 != 0 || !LLVMFuzzerMutate);
  if (own) return chosen().mutate(data, size, capacity, seed / 4);
  return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, capacity) : size;
}
