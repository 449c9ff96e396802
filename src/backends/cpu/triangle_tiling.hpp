// backends/cpu/triangle_tiling.hpp -- how the lower triangle of a product is divided among threads.
#pragma once
#include <carmina/core/matrix.hpp>

#include <algorithm>
#include <vector>

namespace carmina::backend {

// Column ranges of about equal width: a task for each pair. An entry of the result does not depend on its tile
// (backends/cpu/product_loops.hpp), and there are so many tiles that the threads end together.
class TriangleTiling {
 public:
  // `together`: all ranges but the last are a multiple of it; `widest`: their width where two threads or fewer work.
  static TriangleTiling of(Index total, Index widest, Index together, int threads) {
    Index tiles = (total + widest - 1) / widest;
    if (threads > 2) {
      const Index most = std::max(tiles, total / narrowest);
      double least = time(tiles, total, threads);
      for (Index t = tiles + 1; t <= most; ++t) {
        if (const double taken = time(t, total, threads); taken < 0.97 * least) {
          least = taken;
          tiles = t;
        }
      }
    }
    return TriangleTiling(total, tiles, together);
  }

  Index tiles() const { return tiles_; }
  Index begin(Index i) const { return i == tiles_ ? total_ : i * total_ / tiles_ / together_ * together_; }
  Index size(Index i) const { return begin(i + 1) - begin(i); }

 private:
  static constexpr Index narrowest = 96;

  TriangleTiling(Index total, Index tiles, Index together) : total_(total), tiles_(tiles), together_(together) {}

  // Tasks below the diagonal are taken first, those on it, of half the work, last. A tile of width b copies two panels
  // for b products each, a copy taking as long as some forty products.
  static double time(Index tiles, Index total, int threads) {
    const double width = static_cast<double>(total) / static_cast<double>(tiles);
    const double whole = width * width + 40 * width, half = width * width / 2 + 20 * width;
    std::vector<double> ends(static_cast<std::size_t>(threads), 0.0);
    for (Index task = 0; task < tiles * (tiles + 1) / 2; ++task) {
      *std::min_element(ends.begin(), ends.end()) += task < tiles * (tiles - 1) / 2 ? whole : half;
    }
    return *std::max_element(ends.begin(), ends.end());
  }

  Index total_, tiles_, together_;
};

}  // namespace carmina::backend
