// models/median_heuristic.cpp -- the first pass of a fit and the median of its sample of rows.
#include <carmina/models/median_heuristic.hpp>

#include "summary.hpp"

namespace carmina {

template <Real T>
double median_heuristic(ConstView<T> X, const Execution& execution) {
  constexpr Index rows_at_once = 1 << 14;
  MemoryRows<T> rows(X);
  const DataSummary summary = summarize(rows, false, false, rows_at_once, execution);
  return median_distance(summary.sample, summary.sample_weights, execution);
}
template double median_heuristic(ConstView<float>, const Execution&);
template double median_heuristic(ConstView<double>, const Execution&);

}  // namespace carmina
