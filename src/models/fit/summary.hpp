// models/fit/summary.hpp -- the first pass over the rows: checks, means, variances, and a sample for the median width.
#pragma once
#include "data/data_rows.hpp"

#include <carmina/core/execution.hpp>
#include <carmina/losses/loss.hpp>
#include <carmina/models/report.hpp>

#include <vector>

namespace carmina {

constexpr Index summary_sample_rows = 2000;  // for the median: two million pairs

// Outputs that are missing in the same rows.
struct TargetPattern {
  std::vector<Index> columns;  // ascending
  Index rows = 0;              // of positive weight that have these targets
  double copies = 0;           // the same, a row of integer weight w counted w times
  Index own_rows = 0;          // of `rows`, those that are in this process
};

struct DataSummary {
  Index rows = 0;     // with a positive weight and a target
  double copies = 0;  // the same, a row of integer weight w counted w times (models/fit/sampled_rows.hpp)
  double weight = 0;
  Vector<double> input_mean, input_deviation;  // (d); a missing cell counts as the mean
  Vector<double> input_weight;                 // (d), of the rows that have a value there
  Vector<double> target_mean;                  // (p), of the targets that are there
  Vector<double> target_reach;                 // (p), the largest less the smallest
  Matrix<double> target_covariance;            // (p, p), divided by weight - 1; only when asked for
  Vector<double> target_weight;                // (p), of the rows that have this target
  std::vector<TargetPattern> patterns;  // by their first columns; one where no row lacks only some of its targets
  Index without_target = 0;             // rows with a positive weight that were ignored
  Matrix<double> sample;                // (at most summary_sample_rows, d) for the median; NaN where missing
  std::vector<double> sample_weights;

  bool has_missing_targets() const { return patterns.size() > 1; }
};

// Reads all rows once. A target that is NaN is missing, and a row without any target is ignored: `rows` then gives it
// no weight. Error for NaN in inputs (unless `fill_missing`), infinity, a target that the loss cannot take, a negative
// weight, no rows, and an output without any target, which `names` may name.
template <Real T>
DataSummary summarize(const DataRows<T>& rows, bool fill_missing, bool want_covariance, const Execution& execution,
                      bool want_sample = true, const Loss* loss = nullptr, const std::vector<std::string>& names = {});
// Error for an input column without any value, which has no mean to fill its gaps with.
void check_input_values(const DataSummary& summary, const std::vector<std::string>& names);

// Error where the weights of all rows are too large to be added up.
void check_total_weight(double weight);

// Adds to the message of a report that so many rows were ignored, if any.
void count_without_target(Index rows, SolveReport& report);

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
