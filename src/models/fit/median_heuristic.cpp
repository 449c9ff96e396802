// models/fit/median_heuristic.cpp -- the first pass of a fit and the median of its sample of rows.
#include "models/fit/summary.hpp"

#include <carmina/models/fit_options.hpp>

namespace carmina {

template <Real T>
double median_heuristic(ConstView<T> X, const Execution& execution) {
  MemoryRows<T> rows(X);
  const DataSummary summary = summarize(DataRows<T>(rows), false, false, execution);
  return median_distance(summary.sample, summary.sample_weights, execution);
}
template double median_heuristic(ConstView<float>, const Execution&);
template double median_heuristic(ConstView<double>, const Execution&);

}  // namespace carmina
