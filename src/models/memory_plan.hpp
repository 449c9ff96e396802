// models/memory_plan.hpp -- what a fit will hold in memory, known before it begins: block sizes and solvers that keep
// to the budget, or a sentence that says what would.
//
// Counted is all that grows with the rows, the inputs, the outputs or the features. The program itself and the scratch
// of its threads, a few megabytes each whatever the task, come on top.
#pragma once
#include <carmina/data/rows.hpp>
#include <carmina/models/fit_options.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace carmina {

// Bytes that may be used: the budget, or most of the machine's memory.
double memory_limit(const Execution& execution);

// Rows read from the source together when there is plenty: whole tiles, and short enough to show progress.
Index block_rows(Index columns, const Execution& execution);

// A task as far as memory goes.
struct FitShape {
  double n = 0;             // rows
  double d = 0, p = 0;      // inputs, outputs
  double m = 0;             // scalar features of a Fourier map, components of a sketch
  double order = 0;         // coefficients of a Fourier model whose outputs do not come apart, else m
  bool separable = true;    // outputs come apart in the eigenbasis of one matrix
  bool by_eigen = false;    // systems of so many different kinds that they share an eigendecomposition
  double scalar_bytes = 8;  // of the data
};

// One way to do it.
struct MemoryUse {
  std::string solver = {};                                 // "direct", "cg", ...
  bool preconditioned = false;                             // of cg
  std::vector<std::pair<std::string, double>> parts = {};  // what, bytes; blocks apart
  double row_bytes = 0;                                    // of each row of a block, besides what the source holds
  double feature_row_bytes = 0;                            // of each row of features that is held to be summed
  double summary_bytes = 0;                                // in the first pass over the rows, before all that
  double rows = 0;                                         // that there are: blocks are not larger
  std::function<double(Index)> source = {};                // bytes that the source holds for blocks of so many rows

  // Chosen: rows of a block, and of features held at once.
  Index rows_at_once = 0, feature_rows = 0;

  double bytes() const { return bytes(rows_at_once, feature_rows); }
  double bytes(Index block, Index features) const;
  // The largest blocks up to `most` rows that stay under the limit; false when not even the smallest do.
  bool choose_blocks(Index most, double limit);
  std::string text(double limit) const;  // for the report
};

// All ways that the options allow, in the order of preference (models/memory_uses.cpp).
std::vector<MemoryUse> memory_uses(const FitOptions& options, const FitShape& shape);

struct MemoryPlan {
  double limit = 0;
  std::vector<MemoryUse> ways = {};  // that fit, the preferred first
  double direct_bytes = 0;           // what "direct" would need at least

  const MemoryUse* find(const std::string& solver) const;
};

// `rows`: of positive weight, or those of the source; when not known, exact machines and dual forms are not planned
// yet, and the plan has no ways. Error when nothing fits.
template <Real T>
MemoryPlan plan_memory(const FitOptions& options, const RowSource<T>& source, std::optional<Index> rows);

}  // namespace carmina
