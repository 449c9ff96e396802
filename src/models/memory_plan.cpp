// models/memory_plan.cpp -- block sizes within the limit, and the sentence for a task that does not fit.
#include "memory_plan.hpp"

#include <carmina/core/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace carmina {
namespace {

constexpr Index fewest_rows = 128, most_feature_rows = 4096;
constexpr double most_feature_bytes = 512e6;
constexpr double many_rows = 1e15;  // stands for a number that is not known

// Coefficients of a Fourier feature of a term, for p outputs of d inputs.
Index coefficients_of(const Term& term, Index d, Index p) {
  const auto* kind = std::get_if<Differential>(&term.coupling);
  return !kind ? p : *kind == Differential::curl_free ? 1 : d - 1;
}

FitShape shape_of(const FitOptions& options, Index d, Index p, double n, std::size_t scalar_bytes) {
  FitShape s;
  s.n = n;
  s.d = static_cast<double>(d);
  s.p = static_cast<double>(p);
  s.scalar_bytes = static_cast<double>(scalar_bytes);
  const auto sketch = options.chosen_sketch();
  const auto components = static_cast<double>(sketch ? n_components(*sketch) : options.n_components);
  s.separable = options.kernel ? options.kernel->separable() != nullptr : !options.differential();
  const bool coupled = options.kernel ? !std::holds_alternative<Uncoupled>(options.kernel->terms()[0].coupling)
                                      : options.coupling != OutputCoupling::none;
  s.by_eigen = options.alpha == 0 || (coupled && p > 8);
  if (options.kernel) {
    s.m = components * (sketch ? 1.0 : static_cast<double>(options.kernel->terms().size()));
    for (const Term& term : options.kernel->terms()) {
      s.order += components * static_cast<double>(coefficients_of(term, d, p));
    }
  } else {
    s.m = components;
    const bool curl = options.coupling == OutputCoupling::curl_free;
    s.order = components * (curl ? 1.0 : s.p);
  }
  if (s.separable) s.order = s.m;
  return s;
}

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

bool lighter(const MemoryUse& a, const MemoryUse& b) { return a.bytes() < b.bytes(); }

// Everything that a question "would it fit if" varies.
template <Real T>
class Question {
 public:
  Question(const FitOptions& options, const RowSource<T>& source, double n)
      : options_(options), source_(source), n_(n), limit_(memory_limit(options.execution)) {}

  const RowSource<T>& source() const { return source_; }

  std::vector<MemoryUse> ways() const { return ways(options_, n_); }
  bool with_rows(double n) const { return any(options_, n); }
  bool with_components(double count) const { return with_components(options_, count); }
  bool with_fourier(double count) const {
    FitOptions other = options_;
    other.approximation = "fourier";
    other.sketch.reset();
    return with_components(other, count);
  }
  bool with_width() const {
    FitOptions other = options_;
    other.length_scale = 1.0;
    return any(other, n_);
  }
  // With the fewest components, or one row.
  double least() const {
    FitOptions other = options_;
    set_components(other, 2);
    const auto all = ways(other, options_.approximation == "exact" ? 1 : n_);
    return std::min_element(all.begin(), all.end(), lighter)->bytes();
  }
  bool with_solver(const char* solver) const {
    FitOptions other = options_;
    other.solver = solver;
    return any(other, n_);
  }

 private:
  std::vector<MemoryUse> ways(const FitOptions& options, double n) const {
    auto all = memory_uses(options, shape_of(options, source_.dim_in(), source_.dim_out(), n, sizeof(T)));
    const Index most = block_rows(source_.dim_in() + source_.dim_out(), options.execution);
    for (MemoryUse& use : all) {
      use.source = [&source = source_](Index rows) { return source.held_bytes(rows); };
      use.rows = n;
      use.choose_blocks(most, limit_);
    }
    return all;
  }
  bool any(const FitOptions& options, double n) const {
    const auto all = ways(options, n);
    return std::any_of(all.begin(), all.end(), [&](const MemoryUse& use) { return use.bytes() <= limit_; });
  }
  static void set_components(FitOptions& options, double count) {
    options.n_components = static_cast<Index>(count);
    if (options.sketch) {
      options.sketch =
          sketches::make_sketch(sketch_name(*options.sketch), options.n_components, sketch_parameters(*options.sketch));
    }
  }
  bool with_components(FitOptions options, double count) const {
    set_components(options, count);
    return any(options, n_);
  }

  const FitOptions& options_;
  const RowSource<T>& source_;
  double n_, limit_;
};

// What would fit, in words.
template <Real T>
std::string advice(const Question<T>& question, const FitOptions& options, double n) {
  std::vector<std::string> choices;
  const bool squared = std::holds_alternative<Squared>(options.loss);
  const bool exact = options.approximation == "exact" && !options.sketch, fourier = options.approximation == "fourier";
  const bool stationary = !options.kernel || std::all_of(options.kernel->terms().begin(), options.kernel->terms().end(),
                                                         [](const Term& t) { return is_stationary(t.scalar); });
  const auto most = static_cast<double>(std::numeric_limits<int>::max());
  if (options.solver == "direct" && squared && !options.chosen_sketch() && question.with_solver("cg")) {
    choices.emplace_back("solver 'cg'");
  }
  if (!options.kernel && !options.length_scale && question.with_width()) choices.emplace_back("a given length scale");
  if (exact) {
    const double rows = largest(1, n, [&](double count) { return question.with_rows(count); });
    if (rows > 0) choices.push_back(format_text("at most {} rows", round_count(rows)));
  } else {
    const double step = options.chosen_sketch() ? 1 : 2;
    const double count = largest(step, most, [&](double c) { return question.with_components(c); });
    if (count > 0) choices.push_back(format_text("at most {} components", round_count(count)));
  }
  if ((!fourier || options.sketch) && stationary && (!exact || squared)) {
    const double count = largest(2, most, [&](double c) { return question.with_fourier(c); });
    if (count > 0) {
      choices.push_back(format_text("approximation 'fourier' with at most {} components", round_count(count)));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) text += format_text("{}{}", i == 0 ? "" : ", or ", choices[i]);
  if (text.empty() && !options.kernel && !options.length_scale) {
    FitOptions given = options;
    given.length_scale = 1.0;
    return format_text("with a given length scale {}", advice(Question<T>(given, question.source(), n), given, n));
  }
  if (text.empty()) return format_text("even the smallest model needs {}", format_bytes(question.least()));
  return format_text("{} would fit", text);
}

}  // namespace

double memory_limit(const Execution& execution) {
  if (execution.memory_budget > 0) return static_cast<double>(execution.memory_budget);
  return 0.8 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

Index block_rows(Index columns, const Execution& execution) {
  const double allowed = std::min(memory_limit(execution) / 8, 256e6);
  return std::clamp<Index>(static_cast<Index>(allowed / (static_cast<double>(columns) * 24)) / 4096 * 4096, 4096,
                           1 << 16);
}

double MemoryUse::bytes(Index block, Index features) const {
  const auto held = [this](Index count) { return std::min(static_cast<double>(count), rows); };
  double fit = held(block) * row_bytes + held(features) * feature_row_bytes;
  for (const auto& [what, size] : parts) fit += size;
  return (source && block > 0 ? source(static_cast<Index>(held(block))) : 0) + std::max(summary_bytes, fit);
}

bool MemoryUse::choose_blocks(Index most, double limit) {
  const auto whole = [](Index count) { return std::max(fewest_rows, count / fewest_rows * fewest_rows); };
  const Index features = feature_row_bytes > 0 ? whole(static_cast<Index>(most_feature_bytes / feature_row_bytes)) : 0;
  for (rows_at_once = whole(most);; rows_at_once = whole(rows_at_once / 2)) {
    feature_rows = std::min({most_feature_rows, features, rows_at_once});
    if (bytes() <= limit) return true;
    if (rows_at_once == fewest_rows) return false;
  }
}

std::string MemoryUse::text(double limit) const {
  auto listed = parts;
  const double blocks = bytes() - bytes(0, 0);
  listed.emplace_back(format_text("blocks of {} rows", rows_at_once), blocks);
  std::stable_sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  listed.resize(std::min<std::size_t>(listed.size(), 3));
  std::string largest_parts;
  for (const auto& [what, size] : listed) {
    largest_parts += format_text("{}{} {}", largest_parts.empty() ? "" : ", ", what, format_bytes(size));
  }
  return format_text("{} of {} planned: {}", format_bytes(bytes()), format_bytes(limit), largest_parts);
}

const MemoryUse* MemoryPlan::find(const std::string& solver) const {
  const auto found = std::find_if(ways.begin(), ways.end(), [&](const MemoryUse& use) { return use.solver == solver; });
  return found == ways.end() ? nullptr : &*found;
}

template <Real T>
MemoryPlan plan_memory(const FitOptions& options, const RowSource<T>& source, std::optional<Index> rows) {
  const bool primal = options.approximation == "fourier" && !options.sketch &&
                      std::holds_alternative<Squared>(options.loss) &&
                      (options.solver == "auto" || options.solver == "cg" || options.solver == "idr");
  MemoryPlan plan{.limit = memory_limit(options.execution)};
  if (!rows && !primal) return plan;
  const Question<T> question(options, source, rows ? static_cast<double>(*rows) : many_rows);
  const std::vector<MemoryUse> all = question.ways();
  for (const MemoryUse& use : all) {
    if (use.solver == "direct") plan.direct_bytes = use.bytes();
    if (use.bytes() <= plan.limit) plan.ways.push_back(use);
  }
  if (!plan.ways.empty()) return plan;
  const auto least = std::min_element(all.begin(), all.end(), lighter);
  auto parts = least->parts;
  parts.emplace_back("the rows whose median distance is the width", least->summary_bytes);
  const auto heaviest =
      std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  fail("fit: solver '{}' needs {}, {} of it for {}, and the memory budget is {}; {}", least->solver,
       format_bytes(least->bytes()), format_bytes(heaviest->second), heaviest->first, format_bytes(plan.limit),
       advice(question, options, rows ? static_cast<double>(*rows) : many_rows));
}
template MemoryPlan plan_memory(const FitOptions&, const RowSource<float>&, std::optional<Index>);
template MemoryPlan plan_memory(const FitOptions&, const RowSource<double>&, std::optional<Index>);

}  // namespace carmina
