// backends/cpu/bfloat16.hpp -- products of bfloat16 on machines that have them.
//
// Rows come in pairs: a cell holds the entries of one column in two rows, 16 bits each. Cells of `panel` columns are
// together, pair after pair: cell (pair k, column j) is panels[(j / panel * pairs + k) * panel + j % panel].
#pragma once
#include <carmina/core/matrix.hpp>
#include <cstdint>

namespace carmina::backend::bfloat16 {

constexpr Index panel = 32;

bool compiled();  // by a compiler that knows the instructions

// Row pair k of `pairs`, rounded to nearest; `columns` of each. A row that is null is zeros. Columns up to the
// end of the last panel are zeros.
void pack(const float* first, const float* second, Index columns, Index k, Index pairs, std::uint32_t* panels);

// out (panel, panel) += sum over pairs of left panel times right panel; row stride ldo.
void add_product(const std::uint32_t* left, const std::uint32_t* right, Index pairs, float* out, Index ldo);

// The same by tile registers (AMX), on processors of which the system lets a process use them.
bool has_tiles();
constexpr Index tile_pairs = 16;  // `pairs` is a multiple of it
// The left panel with the pairs of a row beside one another: (pairs / tile_pairs, panel, tile_pairs).
void turn(const std::uint32_t* left, Index pairs, std::uint32_t* out);
// What this thread multiplies by tiles stands between begin and end.
void begin_tiles();
void add_product_by_tiles(const std::uint32_t* turned, const std::uint32_t* right, Index pairs, float* out, Index ldo);
void end_tiles();

}  // namespace carmina::backend::bfloat16
