// backends/cpu/lower_tiles.hpp -- tasks over the tiles of a triangle.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>

namespace carmina::backend {

// body(i, j) for all tiles j <= i of a triangle of t tiles, those below the diagonal, which take longer, first.
template <class Body>
void for_lower_tiles(Index t, const Execution& execution, const Body& body) {
  parallel_for(t * (t + 1) / 2, execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    Index i = 1, j = task;
    while (j >= i && i < t) j -= i++;
    if (i == t) i = j;
    body(i, j);
  });
}

}  // namespace carmina::backend
