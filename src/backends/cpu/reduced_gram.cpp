// backends/cpu/reduced_gram.cpp -- blocks of rows, then products of column tiles, on all threads.
#include "backends/reduced_gram.hpp"
#include "backends/blas.hpp"
#include "backends/cpu/bfloat16.hpp"
#include "backends/cpu/lower_tiles.hpp"
#include "backends/cpu/triangle_tiling.hpp"
#include "backends/tiled.hpp"

#include <algorithm>

namespace carmina::backend {
namespace {

constexpr Index tile = 512;  // columns of a task, at most

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

bool has_bfloat16_tiles() { return has_bfloat16() && bfloat16::has_tiles(); }

ReducedGram::ReducedGram(Index order, Reduced precision, const Execution& execution)
    : order_(order), pairs_(precision == Reduced::bfloat16 && has_bfloat16()), execution_(execution) {
  block_rows_ = pairs_ && has_bfloat16_tiles() ? 4096 : 1024;  // tiles are done with them sooner
  sums = zeros<float>(order, order, execution);
  scratch_.resize(static_cast<std::size_t>(execution.thread_count()));
}

void ReducedGram::add(Index rows, const Fill& fill) {
  const Index panels = (order_ + bfloat16::panel - 1) / bfloat16::panel, most = std::min(rows, block_rows_);
  if (pairs_) {
    packed_.resize(static_cast<std::size_t>(panels * bfloat16::panel * ((most + 1) / 2 + bfloat16::tile_pairs)));
  } else {
    design_.resize(most, order_);
  }
  for (Index first = 0; first < rows; first += block_rows_) {
    constexpr Index unit = bfloat16::tile_pairs;
    const Index count = std::min(block_rows_, rows - first), pairs = ((count + 1) / 2 + unit - 1) / unit * unit;
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
      for (Index k = (count + 1) / 2; k < pairs; ++k) {
        bfloat16::pack(nullptr, nullptr, order_, k, pairs, packed_.data());
      }
      add_pairs(pairs);
    } else {
      add_floats(count);
    }
  }
}

void ReducedGram::add_pairs(Index pairs) {
  constexpr Index width = bfloat16::panel;
  const bool tiles = bfloat16::has_tiles();
  const auto tiling = TriangleTiling::of(order_, tile, width, execution_.thread_count());
  const auto panel = [&](Index at) { return packed_.data() + at * pairs * width; };
  const auto end = [&](Index k) { return (tiling.begin(k + 1) + width - 1) / width; };
  for_lower_tiles(tiling.tiles(), execution_, [&](Index i, Index j) {
    thread_local std::vector<std::uint32_t> turned;
    if (tiles) {
      turned.resize(static_cast<std::size_t>(pairs * width));
      bfloat16::begin_tiles();
    }
    for (Index a = tiling.begin(i) / width; a < end(i); ++a) {
      if (tiles) bfloat16::turn(panel(a), pairs, turned.data());
      const auto add_product = [&](Index b, float* out, Index ldo) {
        if (tiles) return bfloat16::add_product_by_tiles(turned.data(), panel(b), pairs, out, ldo);
        bfloat16::add_product(panel(a), panel(b), pairs, out, ldo);
      };
      for (Index b = tiling.begin(j) / width; b < std::min(end(j), a + 1); ++b) {
        float* const out = sums.data() + a * width * order_ + b * width;
        const Index height = std::min(width, order_ - a * width), breadth = std::min(width, order_ - b * width);
        if (height == width && breadth == width) {
          add_product(b, out, order_);
          continue;
        }
        float whole[width * width] = {};
        add_product(b, whole, width);
        for (Index r = 0; r < height; ++r) {
          for (Index c = 0; c < breadth; ++c) out[r * order_ + c] += whole[r * width + c];
        }
      }
    }
    if (tiles) bfloat16::end_tiles();
  });
}

void ReducedGram::add_floats(Index rows) {
  const auto tiling = TriangleTiling::of(order_, tile, 32, execution_.thread_count());
  for_lower_tiles(tiling.tiles(), execution_, [&](Index i, Index j) {
    const float *left = design_.data() + tiling.begin(i), *right = design_.data() + tiling.begin(j);
    float* const out = sums.data() + tiling.begin(i) * order_ + tiling.begin(j);
    if (i == j) {
      gram<float>(tiling.size(i), rows, 1, left, order_, 1, out, order_);
    } else {
      gemm<float>(Transpose::yes, Transpose::no, tiling.size(i), tiling.size(j), rows, 1, left, order_, right, order_,
                  1, out, order_);
    }
  });
}

}  // namespace carmina::backend
