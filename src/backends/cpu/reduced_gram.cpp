// backends/cpu/reduced_gram.cpp -- blocks of rows, then products of column tiles, on all threads.
#include "backends/reduced_gram.hpp"
#include "backends/blas.hpp"
#include "backends/cpu/bfloat16.hpp"
#include "backends/cpu/lower_tiles.hpp"

#include <algorithm>

namespace carmina::backend {
namespace {

constexpr Index tile = 512;  // columns of a task

}  // namespace

bool has_bfloat16() {
#if defined(__x86_64__)
  static const bool available = [] {
    __builtin_cpu_init();
    return bfloat16::compiled() && __builtin_cpu_supports("avx512bf16");
  }();
  return available;
#else
  return false;
#endif
}

ReducedGram::ReducedGram(Index order, Reduced precision, const Execution& execution)
    : order_(order), pairs_(precision == Reduced::bfloat16 && has_bfloat16()), execution_(execution) {
  sums.setZero(order, order);
  scratch_.resize(static_cast<std::size_t>(execution.thread_count()));
}

void ReducedGram::add(Index rows, const Fill& fill) {
  const Index panels = (order_ + bfloat16::panel - 1) / bfloat16::panel, most = std::min(rows, block_rows);
  if (pairs_) {
    packed_.resize(static_cast<std::size_t>(panels * bfloat16::panel * ((most + 1) / 2)));
  } else {
    design_.resize(most, order_);
  }
  for (Index first = 0; first < rows; first += block_rows) {
    const Index count = std::min(block_rows, rows - first), pairs = (count + 1) / 2;
    parallel_for((count + fill_rows - 1) / fill_rows, execution_.thread_count(), [&](Index task, int worker) {
      execution_.poll(worker);
      const Index at = task * fill_rows, here = std::min(fill_rows, count - at);
      if (!pairs_) return fill(first + at, here, design_.row(at).data(), worker);
      auto& scratch = scratch_[static_cast<std::size_t>(worker)];
      scratch.resize(static_cast<std::size_t>(fill_rows * order_));
      fill(first + at, here, scratch.data(), worker);
      for (Index i = 0; i < here; i += 2) {
        const float* const row = scratch.data() + i * order_;
        bfloat16::pack(row, i + 1 < here ? row + order_ : nullptr, order_, (at + i) / 2, pairs, packed_.data());
      }
    });
    if (pairs_) {
      add_pairs(pairs);
    } else {
      add_floats(count);
    }
  }
}

void ReducedGram::add_pairs(Index pairs) {
  constexpr Index width = bfloat16::panel;
  const Index panels = (order_ + width - 1) / width, group = tile / width;
  for_lower_tiles((panels + group - 1) / group, execution_, [&](Index i, Index j) {
    const auto panel = [&](Index at) { return packed_.data() + at * pairs * width; };
    for (Index a = i * group; a < std::min(panels, (i + 1) * group); ++a) {
      for (Index b = j * group; b < std::min({panels, (j + 1) * group, a + 1}); ++b) {
        float* const out = sums.data() + a * width * order_ + b * width;
        const Index height = std::min(width, order_ - a * width), breadth = std::min(width, order_ - b * width);
        if (height == width && breadth == width) {
          bfloat16::add_product(panel(a), panel(b), pairs, out, order_);
          continue;
        }
        float whole[width * width] = {};
        bfloat16::add_product(panel(a), panel(b), pairs, whole, width);
        for (Index r = 0; r < height; ++r) {
          for (Index c = 0; c < breadth; ++c) out[r * order_ + c] += whole[r * width + c];
        }
      }
    }
  });
}

void ReducedGram::add_floats(Index rows) {
  const Index tiles = (order_ + tile - 1) / tile;
  for_lower_tiles(tiles, execution_, [&](Index i, Index j) {
    const Index height = std::min(tile, order_ - i * tile), breadth = std::min(tile, order_ - j * tile);
    float* const out = sums.data() + i * tile * order_ + j * tile;
    if (i == j) {
      gram<float>(height, rows, 1, design_.data() + i * tile, order_, 1, out, order_);
    } else {
      gemm<float>(Transpose::yes, Transpose::no, height, breadth, rows, 1, design_.data() + i * tile, order_,
                  design_.data() + j * tile, order_, 1, out, order_);
    }
  });
}

}  // namespace carmina::backend
