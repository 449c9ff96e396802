// models/plan/memory_plan.cpp -- block sizes within the limit, and the sentence for a task that does not fit.
#include "models/plan/memory_plan.hpp"
#include "models/fit/summary.hpp"

#include <carmina/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

constexpr double many_rows = 1e15;  // stands for a number that is not known

// "21,000": three digits of a count, rounded down.
std::string round_count(double count) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(std::max(count, 1.0))) - 2));
  std::string digits = format_text("{:.0f}", std::floor(count / unit) * unit);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

// The largest count, of those that are multiples of `step`, for which `fits`; 0 when not even the first does.
double largest(double step, double most, const std::function<bool(double)>& fits) {
  if (!fits(step)) return 0;
  double below = 1, above = 2;
  while (above * step < most && fits(above * step)) below = above, above *= 2;
  while (above - below > 1) {
    const double middle = std::floor((above + below) / 2);
    (fits(middle * step) ? below : above) = middle;
  }
  return below * step;
}

const PlannedWay* first_factored(const std::vector<PlannedWay>& ways) {
  const auto found =
      std::find_if(ways.begin(), ways.end(), [](const PlannedWay& way) { return way.way->solver.factors; });
  return found == ways.end() ? nullptr : &*found;
}

bool lighter(const PlannedWay& a, const PlannedWay& b) { return a.use.bytes() < b.use.bytes(); }

// Answers to "would it fit if".
class WhatIf {
 public:
  WhatIf(const std::vector<const WayInfo*>& table, const FitTask& task, const std::function<double(Index)>& source)
      : table_(table), task_(task), source_(source), limit_(memory_limit(task.options.execution)) {}

  std::vector<PlannedWay> ways() const { return ways(task_); }
  bool with_rows(double n) const { return any(with(task_.options, n)); }
  bool with_components(double count) const { return with_components(task_.options, count); }
  bool with_fourier(double count) const { return with_components(task_.options.with_fourier_features(), count); }
  bool with_width() const { return any(with(given_width(), task_.n)); }
  // With the fewest components, or one row.
  double least() const {
    FitOptions other = task_.options;
    set_components(other, 2);
    const auto all = ways(with(other, task_.exact() ? 1 : task_.n));
    return std::min_element(all.begin(), all.end(), lighter)->use.bytes();
  }
  bool with_solver(Solver solver) const {
    FitOptions other = task_.options;
    other.solver = solver.word;
    return any(with(other, task_.n));
  }

  // What would fit, in words.
  std::string advice() const {
    std::vector<std::string> choices;
    const FitOptions& options = task_.options;
    const bool median = !options.kernel && !options.length_scale;
    const auto stationary_term = [](const Term& t) { return has_fourier_features(t.scalar); };
    const bool stationary =
        !options.kernel || std::all_of(options.kernel->terms().begin(), options.kernel->terms().end(), stationary_term);
    const auto most = static_cast<double>(std::numeric_limits<int>::max());
    const auto instead = std::find_if(table_.begin(), table_.end(), [&](const WayInfo* way) {
      return !task_.automatic() && way->by_itself && way->applies(task_) && with_solver(way->solver);
    });
    if (instead != table_.end()) choices.push_back(format_text("solver '{}'", (*instead)->solver.word));
    if (median && with_width()) choices.emplace_back("a given length scale");
    if (task_.exact()) {
      const double rows = largest(1, task_.n, [&](double count) { return with_rows(count); });
      if (rows > 0) choices.push_back(format_text("at most {} rows", round_count(rows)));
    } else {
      const double count = largest(task_.sketch ? 1 : 2, most, [&](double c) { return with_components(c); });
      if (count > 0) choices.push_back(format_text("at most {} components", round_count(count)));
    }
    if (!task_.fourier() && stationary && (!task_.exact() || task_.squared)) {
      const double count = largest(2, most, [&](double c) { return with_fourier(c); });
      if (count > 0) {
        choices.push_back(format_text("approximation 'fourier' with at most {} components", round_count(count)));
      }
    }
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i) text += format_text("{}{}", i == 0 ? "" : ", or ", choices[i]);
    if (text.empty() && median) {
      const FitOptions given = given_width();
      const FitTask other = with(given, task_.n);
      return format_text("with a given length scale {}", WhatIf(table_, other, source_).advice());
    }
    if (text.empty()) return format_text("even the smallest model needs {}", format_bytes(least()));
    return format_text("{} would fit", text);
  }

 private:
  FitTask with(const FitOptions& options, double n) const {
    FitTask other(options, static_cast<Index>(task_.d), static_cast<Index>(task_.p), n,
                  static_cast<std::size_t>(task_.scalar_bytes));
    static_cast<TaskKind&>(other) = task_;
    return other;
  }
  FitOptions given_width() const {
    FitOptions other = task_.options;
    other.length_scale = 1.0;
    return other;
  }
  std::vector<PlannedWay> ways(const FitTask& task) const {
    std::vector<PlannedWay> all;
    const Index most = block_rows(static_cast<Index>(task.d + task.p), task.options.execution);
    // Rows for the median width, as they are kept, gathered and transformed.
    const bool sample = !task.options.kernel && !task.options.length_scale;
    for (const WayInfo* way : table_) {
      if (!way->applies(task) || !way->asked_for(task)) continue;
      PlannedWay& planned = all.emplace_back(PlannedWay{way, way->memory(task)});
      planned.use.summary_bytes = sample ? std::min<double>(task.n, summary_sample_rows) * (3 * task.d + 6) * 8 : 0;
      planned.use.source = source_;
      planned.use.rows = task.n;
      planned.use.stretch = task.grid().stretch;
      planned.use.choose_blocks(most, limit_);
    }
    return all;
  }
  bool any(const FitTask& task) const {
    const auto all = ways(task);
    return std::any_of(all.begin(), all.end(), [&](const PlannedWay& way) { return way.use.bytes() <= limit_; });
  }
  static void set_components(FitOptions& options, double count) {
    options.n_components = static_cast<Index>(count);
    if (options.sketch) {
      options.sketch =
          sketches::make_sketch(sketch_name(*options.sketch), options.components(), sketch_parameters(*options.sketch));
    }
  }
  bool with_components(FitOptions options, double count) const {
    set_components(options, count);
    return any(with(options, task_.n));
  }

  const std::vector<const WayInfo*>& table_;
  const FitTask& task_;
  const std::function<double(Index)>& source_;
  double limit_;
};

}  // namespace

Index block_rows(Index columns, const Execution& execution) {
  const double allowed = std::min(memory_limit(execution) / 8, 256e6);
  const auto rows = static_cast<Index>(allowed / (static_cast<double>(columns) * 24));
  return std::clamp<Index>(rows < 4096 ? rows : rows / 4096 * 4096, 1, 1 << 18);
}

double MemoryUse::bytes(Index block) const {
  const double held = std::min(static_cast<double>(block), rows);
  double fit = held * row_bytes;
  for (const auto& [what, size] : parts) fit += size;
  return (source && block > 0 ? source(static_cast<Index>(held)) : 0) + std::max(summary_bytes, fit);
}

void MemoryUse::choose_blocks(Index most, double limit) {
  constexpr Index most_in_memory = 1 << 20;  // of rows that are there already: threads wait at the ends of blocks
  const auto whole = [&](Index count) { return std::max(stretch, count / stretch * stretch); };
  if (!source || source(1) == 0) most = std::max(most, most_in_memory);
  for (rows_at_once = whole(most); rows_at_once > stretch && bytes() > limit;) rows_at_once = whole(rows_at_once / 2);
}

std::string MemoryUse::text(double limit) const {
  auto listed = parts;
  listed.emplace_back(format_text("blocks of {} rows", rows_at_once), bytes() - bytes(0));
  std::stable_sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  listed.resize(std::min<std::size_t>(listed.size(), 3));
  std::string largest_parts;
  for (const auto& [what, size] : listed) {
    largest_parts += format_text("{}{} {}", largest_parts.empty() ? "" : ", ", what, format_bytes(size));
  }
  return format_text("{} of {} planned: {}", format_bytes(bytes()), format_bytes(limit), largest_parts);
}

const PlannedWay* MemoryPlan::factored() const { return first_factored(ways); }

bool fits_budget(const std::vector<const WayInfo*>& table, const FitTask& task, Index rows,
                 const std::function<double(Index)>& source) {
  return WhatIf(table, task, source).with_rows(static_cast<double>(rows));
}

MemoryPlan plan_memory(const std::vector<const WayInfo*>& table, const FitTask& task, std::optional<Index> rows,
                       const std::function<double(Index)>& source) {
  MemoryPlan plan{.limit = memory_limit(task.options.execution)};
  FitTask sized(task.options, static_cast<Index>(task.d), static_cast<Index>(task.p),
                rows ? static_cast<double>(*rows) : many_rows, static_cast<std::size_t>(task.scalar_bytes));
  static_cast<TaskKind&>(sized) = task;
  const WhatIf question(table, sized, source);
  const std::vector<PlannedWay> all = question.ways();
  require(!all.empty() || task.folds > 0, "fit: there is no way for solver '{}' here", task.options.solver);
  if (const PlannedWay* factored = first_factored(all)) plan.factored_bytes = factored->use.bytes();
  for (const PlannedWay& way : all) {
    if (way.use.bytes() <= plan.limit) plan.ways.push_back(way);
  }
  if (!plan.ways.empty() || !rows || task.folds > 0) return plan;
  const auto least = std::min_element(all.begin(), all.end(), lighter);
  auto parts = least->use.parts;
  parts.emplace_back("the rows whose median distance is the width", least->use.summary_bytes);
  const auto heaviest =
      std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  fail("fit: solver '{}' needs {}, {} of it for {}, and the memory budget is {}; {}", least->way->solver.word,
       format_bytes(least->use.bytes()), format_bytes(heaviest->second), heaviest->first, format_bytes(plan.limit),
       question.advice());
}

}  // namespace carmina
