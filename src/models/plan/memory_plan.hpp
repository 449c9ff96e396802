// models/plan/memory_plan.hpp -- what a fit will hold in memory, known before it begins: the ways and block sizes that
// keep to the budget, or a sentence that says what would.
//
// Counted is all that grows with the rows, the inputs, the outputs or the features. The program itself and the scratch
// of its threads, a few megabytes each whatever the task, come on top.
#pragma once
#include "models/fit/fit_task.hpp"
#include "models/plan/memory_limit.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace carmina {

// Rows read from the source together when there is plenty.
Index block_rows(Index columns, const Execution& execution);

// What one way holds.
struct MemoryUse {
  std::vector<std::pair<std::string, double>> parts = {};  // what, bytes; blocks apart
  double row_bytes = 0;                                    // of each row of a block, besides what the source holds
  double summary_bytes = 0;                                // in the first pass over the rows, before all that
  double rows = 0;                                         // that there are: blocks are not larger
  Index stretch = 128;                                     // blocks are whole stretches
  std::function<double(Index)> source = {};                // bytes that the source holds for blocks of so many rows

  Index rows_at_once = 0;  // chosen: rows of a block

  void add(std::string what, double bytes) { parts.emplace_back(std::move(what), bytes); }
  // The largest blocks up to `most` rows that stay under the limit, or the smallest.
  void choose_blocks(Index most, double limit);
  double bytes() const { return bytes(rows_at_once); }
  double bytes(Index block) const;
  std::string text(double limit) const;  // for the report
};

// A way of fitting as far as a plan, a check of options or a help text goes; Way (ways.hpp) adds how it runs.
struct WayInfo {
  const char* name;                          // what it does, for reports: "normal equations of the features"
  Solver solver;                             // what users call it
  bool (*applies)(const FitTask&);           // to this approximation, loss and kernel; sizes may decide
  MemoryUse (*memory)(const FitTask&);       // what it holds
  double (*order)(const FitTask&);           // of the system that it factors, or would have to
  double (*cost)(const FitTask&) = nullptr;  // relative work by stored rates, where several ways of `auto` compete
  bool by_itself = true;                     // `auto` may take it

  // Whether the user's solver is this one, or `auto`.
  bool asked_for(const FitTask& task) const { return task.takes(solver) && (by_itself || !task.automatic()); }
};

struct PlannedWay {
  const WayInfo* way;
  MemoryUse use;
};

struct MemoryPlan {
  double limit = 0;
  std::vector<PlannedWay> ways = {};  // that fit, in the order of the table
  double factored_bytes = 0;          // what one that factors its system would need at least

  const PlannedWay* factored() const;  // the first that does
};

// Whether some way for these options and so many rows keeps to the budget.
bool fits_budget(const std::vector<const WayInfo*>& table, const FitTask& task, Index rows,
                 const std::function<double(Index)>& source);

// `rows`: of positive weight, or those of the source; when not known, only ways that hold nothing for each row are
// planned. `source(rows)`: bytes that the source holds for blocks of so many. Error when nothing fits; folds may then
// be fitted one by one, and the plan is empty.
MemoryPlan plan_memory(const std::vector<const WayInfo*>& table, const FitTask& task, std::optional<Index> rows,
                       const std::function<double(Index)>& source);

}  // namespace carmina
