// models/choose/missing_choice.hpp -- choices where targets are missing: each output by the rows that have it.
#pragma once
#include "models/choose/exact_evidence.hpp"
#include "models/fit/summary.hpp"

#include <vector>

namespace carmina {

// Outputs whose targets are there in the same rows.
struct SeenOutputs {
  std::vector<Index> columns, rows;  // ascending
};
std::vector<SeenOutputs> seen_outputs(const Matrix<double>& Y);

// The share of the targets that are there.
double seen_share(const DataSummary& summary);

// Errors of rows left out, each output predicted from the rows that have it: as of one fit for each pattern, pooled
// over the targets that are there. Residuals and coefficients are 0 where a target is missing.
ExactErrors pooled_errors(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha, const Execution& execution);

// The evidence of the patterns together.
ExactEvidence pooled_evidence(const ChoiceRows& rows, const ScalarKernel& kernel, double alpha,
                              const Execution& execution);

// Leaves at most so many rows, by weight, to each of the outputs; where there are many patterns, fewer, so that the
// systems of all together take at most four times the work of one. Which ones does not depend on the order of rows.
void limit_targets(ChoiceRows& rows, double most);

// How many rows a sample should have in the place of one, so that outputs have as many targets as if none were missing;
// at most two and a half, and fewer where there are many patterns.
double rows_for_one(const ChoiceRows& rows);

}  // namespace carmina
