// backends/reduced_gram.hpp -- a Gram matrix that need not be exact: sums in float, of numbers rounded to bfloat16
// where the machine multiplies those faster: twice by AVX-512 BF16, many times by AMX.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>
#include <cstdint>
#include <functional>
#include <vector>

namespace carmina::backend {

// Whether the machine has products of pairs of bfloat16 (AVX-512 BF16).
bool has_bfloat16();
bool has_bfloat16_tiles();  // and registers of whole tiles for them (AMX)

enum class Reduced { bfloat16, single };
constexpr double unit_roundoff(Reduced precision) { return precision == Reduced::bfloat16 ? 0x1p-8 : 0x1p-24; }

// Lower triangle of the sum of phi phiᵀ over rows phi, added block by block.
class ReducedGram {
 public:
  // bfloat16 falls back on float where the machine has none.
  ReducedGram(Index order, Reduced precision, const Execution& execution);

  // Writes rows [first, first + count) to out (count, order); called by several threads at once.
  using Fill = std::function<void(Index first, Index count, float* out, int worker)>;
  void add(Index rows, const Fill& fill);

  Matrix<float> sums;  // (order, order), lower triangle

 private:
  static constexpr Index fill_rows = 16;
  void add_pairs(Index rows);
  void add_floats(Index rows);

  Index order_, block_rows_;
  bool pairs_;
  Execution execution_;
  std::vector<std::uint32_t> packed_;        // pairs of rows, in panels of columns
  Matrix<float> design_;                     // or the rows as they are
  std::vector<std::vector<float>> scratch_;  // of each worker
};

}  // namespace carmina::backend
