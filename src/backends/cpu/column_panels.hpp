// backends/cpu/column_panels.hpp -- columns of a matrix, some of them a task.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>

#include <algorithm>

namespace carmina::backend {

inline Index count_of(Index total, Index tile) { return (total + tile - 1) / tile; }

// f(first, count) for panels of columns.
template <class F>
void for_panels(Index columns, Index width, const Execution& execution, const F& f) {
  parallel_for(count_of(columns, width), execution.thread_count(), [&](Index task, int worker) {
    execution.poll(worker);
    f(task * width, std::min(width, columns - task * width));
  });
}

}  // namespace carmina::backend
