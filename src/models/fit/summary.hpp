// models/fit/summary.hpp -- the first pass over the rows: checks, means, variances, and a sample for the median width.
#pragma once
#include "data/data_rows.hpp"

#include <carmina/core/execution.hpp>
#include <carmina/losses/loss.hpp>

#include <vector>

namespace carmina {

constexpr Index summary_sample_rows = 2000;  // for the median: two million pairs

struct DataSummary {
  Index rows = 0;    // with a positive weight
  Index copies = 0;  // the same, a row of integer weight w counted w times (models/fit/sampled_rows.hpp)
  double weight = 0;
  Vector<double> input_mean, input_deviation;  // (d); a missing cell counts as the mean
  Vector<double> target_mean;                  // (p)
  Matrix<double> target_covariance;            // (p, p), divided by weight - 1; only when asked for
  Matrix<double> sample;                       // (at most summary_sample_rows, d) for the median; NaN where missing
  std::vector<double> sample_weights;
};

// Reads all rows once. Error for NaN (unless `fill_missing`, in inputs), infinity, a target that the loss cannot take,
// a negative weight, no rows.
template <Real T>
DataSummary summarize(const DataRows<T>& rows, bool fill_missing, bool want_covariance, const Execution& execution,
                      bool want_sample = true, const Loss* loss = nullptr);

// What may be NaN in a row.
struct RowGaps {
  bool inputs = false, targets = false;
  const char* input_advice = "fill_missing puts the training mean in its place";  // where it may not
};

// Error, with the place of row i of the block, for a cell that must not be there, or a negative weight. Every cell
// passes here, so the place is put into words only when something is wrong with it.
template <Real T>
void check_row(const DataRows<T>& rows, const RowBlock<T>& block, Index i, const RowGaps& gaps);

// Median distance between the rows, a row of weight w standing for w rows; 1 when all rows are equal.
double median_distance(const Matrix<double>& rows, const std::vector<double>& weights, const Execution& execution);

}  // namespace carmina
