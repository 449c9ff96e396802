// solvers/losses/batch_order.hpp -- the order in which mini-batches take the rows of a block.
#pragma once
#include <carmina/core/matrix.hpp>
#include <carmina/random/philox.hpp>

#include <numeric>
#include <utility>
#include <vector>

namespace carmina {

// A random order of a block's rows, the same for the same seed, epoch and place of the block.
inline std::vector<Index> shuffled(Index count, Index first_row, const Random& random, Index epoch) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = count - 1; i > 0; --i) {
    const auto at = static_cast<std::uint64_t>(first_row + i);
    const auto j =
        static_cast<Index>(random.bits(at, static_cast<std::uint32_t>(epoch)) % static_cast<std::uint64_t>(i + 1));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  return order;
}

}  // namespace carmina
