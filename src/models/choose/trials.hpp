// models/choose/trials.hpp -- settings tried on rows, with notes of each; steps from one to a better one.
#pragma once
#include "models/choose/search.hpp"

#include <functional>

namespace carmina {

// Sizes of the steps in the logarithms of width and alpha, where halving them ends, and how many settings to try.
struct Steps {
  double width, alpha, least;
  int most;
};

class Trials {
 public:
  Trials(const SearchSpace& space, const Execution& execution, ChoiceLog& log)
      : space_(space), execution_(execution), log_(log) {}

  const SearchSpace& space() const { return space_; }
  const Execution& execution() const { return execution_; }

  // `rows` are in the setting's metric, here and below.
  TriedSetting evaluate(const ChoiceRows& rows, const Setting& setting);
  // With a larger alpha where that one makes the system singular.
  TriedSetting evaluate_near(const ChoiceRows& rows, const Setting& setting);

  // Pattern search from a setting: a step in one of the two logarithms that helps is taken again; when none does, steps
  // are halved.
  TriedSetting polish(const ChoiceRows& rows, TriedSetting best, Steps steps);
  TriedSetting polish(const ChoiceRows& rows, const Setting& start, const Steps& steps) {
    return polish(rows, evaluate_near(rows, start), steps);
  }

  // Tasks 0 .. count - 1 side by side, each on one thread with trials of its own (a single one on all threads); notes
  // are kept in the tasks' order.
  void side_by_side(std::size_t count, const std::function<void(std::size_t task, Trials& trials)>& body);

  double median_distance_of(const ChoiceRows& rows) const;

 private:
  const SearchSpace& space_;
  const Execution& execution_;
  ChoiceLog& log_;
};

// Widths, in median distances, that the search of a family begins with.
double first_width(const ScalarKernel& kernel);
// The families of a search: the first one and those with another distance, then those that begin where the first ended.
struct FamilyWaves {
  explicit FamilyWaves(const SearchSpace& space);
  std::vector<std::size_t> first, second;
};
inline bool euclidean(const Setting& setting) { return !std::holds_alternative<Laplacian>(setting.scalar()); }
inline bool smaller_error(const TriedSetting& a, const TriedSetting& b) { return a.error() < b.error(); }

// The best setting with a metric; nothing where none is wanted. One factor for each input by evidence; a matrix from
// average outer products of gradients. The rows are a part of those that decide whether there are enough.
std::optional<TriedSetting> best_metric(Trials& trials, const ChoiceRows& rows, const TriedSetting& plain,
                                        double part = 1);

// Whether there are so few rows for each input that errors of a metric are to be checked on rows it has not seen; these
// errors, squared (n), by learning it again without each quarter of the rows: each row of a quarter is left out of a
// fit to all rows, in the metric of the other quarters.
bool metric_needs_check(const ChoiceRows& rows);
Vector<double> unseen_squares(const Trials& trials, const ChoiceRows& rows, const TriedSetting& plain);

// A setting with factors for the inputs, found on fewer rows: some steps more on these, and the other families.
TriedSetting more_evidence(Trials& trials, const ChoiceRows& rows, const TriedSetting& found);

}  // namespace carmina
