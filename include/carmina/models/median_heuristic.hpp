// models/median_heuristic.hpp -- the width of a kernel when nobody gave one: the median distance between
// rows.
#pragma once
#include <carmina/core/execution.hpp>
#include <carmina/core/matrix.hpp>

namespace carmina {

// The width that a fit on these inputs, without weights or scaling, takes for its kernel.
template <Real T>
double median_heuristic(ConstView<T> X, const Execution& execution = {});

}  // namespace carmina
