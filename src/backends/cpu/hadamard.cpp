// backends/cpu/hadamard.cpp -- takes the transform of the instruction set that the vector math runs on.
#include "backends/hadamard.hpp"
#include "backends/cpu/hadamard_loops.hpp"
#include "backends/vector_math.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace carmina::backend {
namespace {

const HadamardTable& chosen_hadamard() {
  static const HadamardTable* const table = [] {
    const std::string_view name = vector_instruction_set();
    if (name == "avx512" && avx512_hadamard()) return avx512_hadamard();
    if (name == "avx2" && avx2_hadamard()) return avx2_hadamard();
    return portable_hadamard();
  }();
  return *table;
}

// Room for n numbers that begins with a line of the cache: no register of it lies on two.
template <class T>
class AlignedRoom {
 public:
  explicit AlignedRoom(Index n) : room_(static_cast<std::size_t>(n) + line / sizeof(T)) {}
  T* data() {
    const auto past = reinterpret_cast<std::uintptr_t>(room_.data()) % line;
    return room_.data() + (past == 0 ? 0 : (line - past) / sizeof(T));
  }

 private:
  static constexpr std::size_t line = 64;
  std::vector<T> room_;
};

}  // namespace

void hadamard_products(const float* X, Index ldx, Index rows, Index d, const float* diagonals, const float* lengths,
                       Index n, float* out, Index ldo) {
  chosen_hadamard().of_float(X, ldx, rows, d, diagonals, lengths, n, out, ldo, AlignedRoom<float>(n).data());
}
void hadamard_products(const double* X, Index ldx, Index rows, Index d, const double* diagonals, const double* lengths,
                       Index n, double* out, Index ldo) {
  chosen_hadamard().of_double(X, ldx, rows, d, diagonals, lengths, n, out, ldo, AlignedRoom<double>(n).data());
}

}  // namespace carmina::backend
